import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { DeadLetterHeaders, DeadLetterMarkHeaders } from '#schemas/events/dead-letter.ts'
import { headersOf } from '#schemas/events/headers.ts'
import { delivery, retentionOf, summaries } from './event-facts.ts'
import { holdsPersonalData, type PlacedEvent, personalSchema, placedEvents, versionedName } from './event-schemas.ts'
import { table } from './markdown.ts'
import { isObject, type Json, type JsonObject, jsonOf } from './named-schemas.ts'
import { sampleOf } from './samples.ts'

const code = (text: string): string => `\`${text}\``
const yesNo = (is: boolean): string => (is ? 'yes' : 'no')

/** What a value may be, in few words. */
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
    ['member', 'what it is', 'always there', 'about a person', ''],
    Object.entries(isObject(properties) ? properties : {}).flatMap(([name, member]) => {
      if (!isObject(member)) return []
      const personal = allPersonal || JSON.stringify(member).includes(`"$id":"${personalSchema}"`)
      return [[code(name), kindOf(member), yesNo(always.has(name)), yesNo(personal), descriptionOf(member)]]
    }),
  )
}

const json = (value: Json): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``

function eventSection({ topic, event }: PlacedEvent): string {
  const sample = sampleOf(event)
  const { items } = isObject(jsonOf(event.data).properties) ? contactsOf(event.data) : {}
  return [
    `## ${event.type}`,
    `${summaries[event.type]} Version ${event.version}, in [${topic.name}](#${anchorOf(topic.name)}). ` +
      `JSON Schemas: ${code(`events/${versionedName(event)}.schema.json`)} for the data, ${code(`events/${versionedName(event)}.headers.schema.json`)} for the headers.`,
    'The value:',
    members(event.data),
    ...(items === undefined ? [] : [`Each ${personalSchema}:`, members(items, true)]),
    'The headers, all of them text:',
    members(headersOf(event)),
    `A record, with the key ${code(sample.key)}:`,
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
  const events = placedEvents().filter((placed) => placed.topic.name === topic.name)
  const { 'max.message.bytes': max } = topic.config
  return [
    `## ${topic.name}`,
    topic.description,
    table(
      ['', ''],
      [
        ['who may read it', topic.access === 'open' ? 'any team' : 'those who may see contacts'],
        ['key', code(topic.key)],
        ['partitions', String(topic.partitions)],
        ['kept', retentionOf(topic)],
        ['compression', topic.compression],
        ['largest batch', `${Number(max) / 1024 / 1024} MiB`],
        [
          'personal data',
          yesNo(topic.name === topics.deadLetters.name || events.some((one) => holdsPersonalData(one.event))),
        ],
        [
          'events',
          events.map(({ event }) => `[${event.type}](#${event.type.toLowerCase()})`).join(', ') || 'none of its own',
        ],
      ],
    ),
    ...(topic.name === topics.deadLetters.name ? deadLetters : []),
  ].join('\n\n')
}

const deadLetters: readonly string[] = [
  'A dead letter is the record that could not be read: its key, value and headers byte for byte, in the partition number it came from. Beside them:',
  members(DeadLetterHeaders),
  'When an administrator puts it back or gives it up, a mark follows: a record of the same id without key and value.',
  members(DeadLetterMarkHeaders),
]

/** What to know before the first line of a reader is written. */
const rules: readonly string[] = [
  'Records are [CloudEvents 1.0](https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/kafka-protocol-binding.md) in binary mode: the context attributes are headers, the value is the data as JSON in UTF-8, the key is the `job_id`.',
  `- **Delivery** is ${delivery.guarantee}. The same fact has the same \`${delivery.deduplicateBy}\` however often it was appended: remember the ids you have dealt with, together with what you did.`,
  `- **Order**: ${delivery.ordering}`,
  `- **Partitions**: ${delivery.partitioning}`,
  `- **Outcomes**: ${delivery.outcomes}`,
  '- **Position**: keep the offset you have dealt with beside your own data, in the same transaction, and go on from there. Nothing expires, so you can also begin again at the beginning.',
  '- **Growth**: a version of an event only gains optional members; ignore those you do not know. Anything else is a new version: look at `ce_dataschema` and leave alone what you do not know.',
  '- **Reading through HTTP meanwhile**: GET of a job may lag an event by a moment.',
]

/** Every topic and event: what it says, its members, headers and a sample; and how to read them. */
export const eventReference = (): string =>
  [
    '# Events',
    ...rules.slice(0, 1),
    rules.slice(1).join('\n'),
    'Two readers to start from, in TypeScript and Python, are in `infra/examples`. The same in AsyncAPI 3: [asyncapi.json](/asyncapi.json).',
    ...Object.values(topics).map(topicSection),
    ...placedEvents().map(eventSection),
  ].join('\n\n')
