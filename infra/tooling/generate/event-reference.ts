import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { DeadLetterHeaders, DeadLetterMarkHeaders } from '#schemas/events/dead-letter.ts'
import { headersOf } from '#schemas/events/headers.ts'
import {
  delivery,
  type EventInTopic,
  eventsInTopics,
  hasPersonalData,
  personalSchema,
  retentionOf,
  sampleOf,
  summaries,
  versionedName,
} from './event-facts.ts'
import { table } from './markdown.ts'
import { isObject, type Json, type JsonObject, jsonOf } from './named-schemas.ts'

const code = (text: string): string => `\`${text}\``
const yesNo = (is: boolean): string => (is ? 'yes' : 'no')

function kindOf(schema: JsonObject): string {
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (Array.isArray(schema.anyOf)) {
    const options = schema.anyOf.filter(isObject)
    return options.map(kindOf).join(' or ')
  }
  if (schema.type === 'array') return `array of ${isObject(schema.items) ? kindOf(schema.items) : 'anything'}`
  if (typeof schema.$id === 'string') return schema.$id
  if (schema.format === 'uuid') return 'UUID'
  if (schema.format === 'date-time') return 'timestamp (RFC 3339, UTC)'
  if (schema.pattern === '^[0-9]+$') return 'text of digits'
  const { minimum, maximum } = schema
  if (schema.type === 'integer' && minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`
  return schema.type === 'integer' && minimum !== undefined
    ? `integer from ${minimum}`
    : String(schema.type ?? 'any JSON')
}

const descriptionOf = (schema: JsonObject): string => (typeof schema.description === 'string' ? schema.description : '')

function members(schema: object, allPersonal = false): string {
  const { properties, required } = jsonOf(schema)
  const always = new Set<Json>(Array.isArray(required) ? required : [])
  return table(
    ['member', 'type', 'required', 'personal data', 'description'],
    Object.entries(isObject(properties) ? properties : {}).flatMap(([name, member]) => {
      if (!isObject(member)) return []
      const personal = allPersonal || JSON.stringify(member).includes(`"$id":"${personalSchema}"`)
      return [[code(name), kindOf(member), yesNo(always.has(name)), yesNo(personal), descriptionOf(member)]]
    }),
  )
}

const json = (value: Json): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``

function eventSection({ topic, event }: EventInTopic): string {
  const sample = sampleOf(event)
  const { items } = isObject(jsonOf(event.data).properties) ? contactsOf(event.data) : {}
  return [
    `## ${event.type}`,
    `${summaries[event.type]} Version ${event.version}, in [${topic.name}](#${anchorOf(topic.name)}). ` +
      `JSON Schemas in ${code('schemas/released/events')}: ${code(`${versionedName(event)}.schema.json`)} for the data, ` +
      `${code(`${versionedName(event)}.headers.schema.json`)} for the headers.`,
    'Value:',
    members(event.data),
    ...(items === undefined ? [] : [`Each ${personalSchema}:`, members(items, true)]),
    'Headers (all values are text):',
    members(headersOf(event)),
    `Example with the key ${code(sample.key)}, headers and value:`,
    json({ ...sample.headers }),
    json(JSON.parse(sample.value)),
  ].join('\n\n')
}

function contactsOf(data: object): { readonly items?: JsonObject } {
  const { properties } = jsonOf(data)
  const contacts = isObject(properties) ? properties.contacts : undefined
  return isObject(contacts) && isObject(contacts.items) ? { items: contacts.items } : {}
}

const anchorOf = (heading: string): string => heading.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '-')

function topicSection(topic: Topic): string {
  const events = eventsInTopics().filter((one) => one.topic.name === topic.name)
  const { 'max.message.bytes': max } = topic.config
  return [
    `## ${topic.name}`,
    topic.description,
    table(
      ['', ''],
      [
        ['readers', topic.access === 'open' ? 'any team' : 'restricted: only users who are allowed to read contacts'],
        ['key', code(topic.key)],
        ['partitions', String(topic.partitions)],
        ['retention', retentionOf(topic)],
        ['compression', topic.compression],
        ['maximum batch size', `${Number(max) / 1024 / 1024} MiB`],
        [
          'personal data',
          yesNo(topic.name === topics.deadLetters.name || events.some((one) => hasPersonalData(one.event))),
        ],
        ['events', events.map(({ event }) => `[${event.type}](#${event.type.toLowerCase()})`).join(', ') || 'none'],
      ],
    ),
    ...(topic.name === topics.deadLetters.name ? deadLetters : []),
  ].join('\n\n')
}

const deadLetters: readonly string[] = [
  'A dead letter is a copy of a record that could not be decoded. It has the key, value, headers and partition number of the original record, and these headers:',
  members(DeadLetterHeaders),
  'When an administrator redrives or purges a dead letter, a mark is appended: a record with the same `dl_id` and without key and value.',
  members(DeadLetterMarkHeaders),
]

const rules: readonly string[] = [
  'Records are [CloudEvents 1.0](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md) in binary mode: the context attributes are headers, the value is the data as JSON in UTF-8, the key is the `job_id`.',
  `- **Delivery** is ${delivery.guarantee}. An event that is appended again has the same \`${delivery.deduplicateBy}\`. Store the ids of processed events together with your results, and skip events with a known id.`,
  `- **Order**: ${delivery.ordering}`,
  `- **Partitions**: ${delivery.partitioning}`,
  `- **Outcomes**: ${delivery.outcomes}`,
  '- **Offsets**: Store the offset of the last processed record and your results in one transaction. After a restart, continue at the next offset. Retention is unlimited, so you can also start again from the beginning.',
  '- **Compatibility**: Only optional members are added to an event version. Ignore members that you do not know. Any other change creates a new version: check `ce_dataschema` and skip versions that you do not know.',
  '- **HTTP reads**: `GET /v1/contacts/import/{job_id}` can lag behind the topics.',
]

export const eventReference = (): string =>
  [
    '# Events',
    ...rules.slice(0, 1),
    rules.slice(1).join('\n'),
    'Example consumers in TypeScript and Python are in `infra/examples`. [asyncapi.json](/asyncapi.json) is this reference in AsyncAPI 3.',
    ...Object.values(topics).map(topicSection),
    ...eventsInTopics().map(eventSection),
  ].join('\n\n')
