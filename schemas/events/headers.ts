import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { Timestamp, Uuid } from '../primitives.ts'
import { topics } from './catalogue.ts'
import { Envelope, headerNames } from './envelope.ts'
import type { EventType } from './event-type.ts'

const DecimalCount = (description: string): TSchema => Type.String({ pattern: '^[0-9]+$', description })

const repeat = {
  [headerNames.repeat]: Type.Optional(
    Type.Literal('true', { description: 'Present on a record that was appended again with the same id.' }),
  ),
}

const extensionsOf: Readonly<Record<string, TProperties>> = {
  ImportAccepted: repeat,
  ChunkPlanned: {
    [headerNames.chunkIndex]: DecimalCount('The index of the chunk in the import, from 0.'),
    [headerNames.chunkSize]: DecimalCount('The number of contacts in the chunk.'),
    [headerNames.correlationId]: Type.String({ ...Uuid, description: 'The correlation id of the import.' }),
    ...repeat,
    [headerNames.attempts]: Type.Optional(
      DecimalCount('On a repeated record: the number of delivery attempts made before.'),
    ),
    [headerNames.notBefore]: Type.Optional(
      Type.String({ ...Timestamp, description: 'On a repeated record: the earliest time of the next attempt.' }),
    ),
  },
  ImportCompleted: {},
  ImportFailed: {},
}

const outcomeExtensions: TProperties = {
  [headerNames.importsOffset]: DecimalCount(
    `The offset in \`${topics.imports.name}\` of the record that was processed.`,
  ),
}

/** The schema of the Kafka headers of an event. */
export function headersOf({ type, dataschema }: EventType): TObject {
  const attributes = { ...Envelope.properties, type: Type.Literal(type), dataschema: Type.Literal(dataschema) }
  return Type.Object({
    ...Object.fromEntries(Object.entries(attributes).map(([name, schema]) => [`ce_${name}`, schema])),
    [headerNames.contentType]: Type.Literal('application/json'),
    [headerNames.traceparent]: Type.Optional(Type.String({ description: 'W3C Trace Context.' })),
    ...(extensionsOf[type] ?? outcomeExtensions),
  })
}
