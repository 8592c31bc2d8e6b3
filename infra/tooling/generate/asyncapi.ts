import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { DeadLetterHeaders, DeadLetterMarkHeaders } from '#schemas/events/dead-letter.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { headersOf } from '#schemas/events/headers.ts'
import {
  allowUnknownMembers,
  delivery,
  eventsInTopics,
  hasPersonalData,
  personalSchema,
  retentionOf,
  sampleOf,
  summaries,
  versionedName,
} from './event-facts.ts'
import { byName, extractNamed, isObject, type Json, type JsonObject, jsonOf } from './named-schemas.ts'

const documentVersion = '1.0.0' // each event has its own version
const bindingVersion = '0.5.0'
const personal = 'x-personal-data'

const refer = (name: string): string => `#/components/schemas/${name}`

/** Sets `x-personal-data` on each member: true for the members of a contact and for members that contain contacts. */
function markMembers(schema: JsonObject, aboutPerson: boolean): JsonObject {
  const { properties } = schema
  if (!isObject(properties)) return schema
  const marked = Object.entries(properties).map(([name, member]): [string, Json] => {
    const isPersonal = aboutPerson || JSON.stringify(member).includes(`"${refer(personalSchema)}"`)
    return [name, isObject(member) ? { ...member, [personal]: isPersonal } : member]
  })
  return { ...schema, properties: Object.fromEntries(marked) }
}

function message(event: EventType, schemas: Map<string, JsonObject>): JsonObject {
  const { headers, value } = sampleOf(event)
  return {
    name: event.type,
    title: `${event.type}, version ${event.version}`,
    summary: summaries[event.type] ?? '',
    contentType: 'application/json',
    headers: markMembers(allowUnknownMembers(extractNamed(headersOf(event), refer, schemas)), false),
    payload: extractNamed(event.data, refer, schemas),
    examples: [{ name: `A record with ${event.type}`, headers, payload: JSON.parse(value) }],
    bindings: { kafka: { key: { type: 'string', format: 'uuid', description: 'The job_id.' }, bindingVersion } },
    'x-event-version': event.version,
    'x-dataschema': event.dataschema,
    [personal]: hasPersonalData(event),
  }
}

const bytes = { description: 'The unchanged value of the original record. A `DeadLetterMark` has no value.' }

const deadLetterMessages: JsonObject = {
  DeadLetter: {
    name: 'DeadLetter',
    title: 'A record that could not be decoded',
    summary:
      'The key, value and headers of the original record, unchanged, and headers with its origin and the reason.',
    contentType: 'application/octet-stream',
    headers: markMembers(jsonOf(DeadLetterHeaders), false),
    payload: bytes,
    [personal]: true,
  },
  DeadLetterMark: {
    name: 'DeadLetterMark',
    title: 'A mark for a redriven or purged dead letter',
    summary: 'A record without key and value. It marks the dead letter with the same id as redriven or purged.',
    contentType: 'application/octet-stream',
    headers: markMembers(jsonOf(DeadLetterMarkHeaders), false),
    payload: bytes,
    [personal]: false,
  },
}

const messageNames = (alias: string, topic: Topic): readonly (readonly [string, string])[] =>
  alias === 'deadLetters'
    ? Object.keys(deadLetterMessages).map((name) => [name, name])
    : topic.events.map((event: EventType) => [event.type, versionedName(event)])

function channel(alias: string, topic: Topic): JsonObject {
  const { 'retention.ms': ms, 'retention.bytes': bytes, 'max.message.bytes': max } = topic.config
  return {
    address: topic.name,
    title: topic.name,
    description: topic.description,
    messages: Object.fromEntries(
      messageNames(alias, topic).map(([name, component]) => [name, { $ref: `#/components/messages/${component}` }]),
    ),
    bindings: {
      kafka: {
        topic: topic.name,
        partitions: topic.partitions,
        topicConfiguration: {
          'cleanup.policy': [topic.config['cleanup.policy']],
          'retention.ms': Number(ms),
          'retention.bytes': Number(bytes),
          'max.message.bytes': Number(max),
          'message.timestamp.type': topic.config['message.timestamp.type'],
        },
        bindingVersion,
      },
    },
    'x-access': topic.access,
    [personal]: alias === 'deadLetters' || topic.events.some(hasPersonalData),
    'x-key': topic.key,
    'x-compression': topic.compression,
    'x-retention': retentionOf(topic),
    'x-delivery': { ...delivery },
  }
}

/** The authentication methods that clients support. The Kafka cluster determines which one to use. */
const securitySchemes: JsonObject = {
  plain: { type: 'plain' },
  scram256: { type: 'scramSha256' },
  scram512: { type: 'scramSha512' },
  certificate: { type: 'X509' },
}

export function asyncapiDocument(): JsonObject {
  const schemas = new Map<string, JsonObject>()
  const messages = eventsInTopics().map(({ event }): [string, JsonObject] => [
    versionedName(event),
    message(event, schemas),
  ])
  const all: readonly (readonly [string, Topic])[] = Object.entries(topics)
  const marked = [...schemas].map(([name, schema]): [string, JsonObject] => [
    name,
    markMembers(allowUnknownMembers(schema), name === personalSchema),
  ])
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Contact import events',
      version: documentVersion,
      description:
        'The history of every import as CloudEvents 1.0 in binary mode on Kafka: the context attributes are headers, ' +
        'the value is the data as JSON. An event that is appended again has the same `ce_id`: use it to detect ' +
        'duplicates. A version of an event only gains optional members; ignore members that you do not know.',
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{brokers}',
        protocol: 'kafka-secure',
        description: 'The Kafka cluster of the service. `kafka-acls.md` lists the rights that a subscriber needs.',
        variables: { brokers: { description: 'The operator of the service provides the addresses.' } },
        security: Object.keys(securitySchemes).map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
      },
    },
    channels: Object.fromEntries(all.map(([alias, topic]) => [alias, channel(alias, topic)])),
    operations: Object.fromEntries(
      all.map(([alias, topic]) => [
        `append-${alias}`,
        { action: 'send', channel: { $ref: `#/channels/${alias}` }, summary: `The service appends to ${topic.name}.` },
      ]),
    ),
    components: {
      securitySchemes,
      messages: { ...Object.fromEntries(messages), ...deadLetterMessages },
      schemas: byName(new Map(marked)),
    },
  }
}
