import type { TSchema } from '@sinclair/typebox'
import { headersOf } from '#schemas/events/headers.ts'
import { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { allowUnknownMembers, eventsInTopics, versionedName } from './event-facts.ts'
import { byName, extractNamed, type JsonObject, jsonOf } from './named-schemas.ts'

/** A JSON Schema (draft 2020-12) whose `$defs` contain all schemas that it refers to. */
function standalone(schema: TSchema, $id: string, title: string): JsonObject {
  const definitions = new Map<string, JsonObject>()
  const { $id: ownName, ...own } = jsonOf(schema)
  extractNamed(schema, (name) => `#/$defs/${name}`, definitions)
  const root = (typeof ownName === 'string' && definitions.get(ownName)) || own
  if (typeof ownName === 'string') definitions.delete(ownName)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id,
    title,
    ...root,
    ...(definitions.size > 0 && { $defs: byName(definitions) }),
  }
}

export function jsonSchemas(): ReadonlyMap<string, JsonObject> {
  const events = eventsInTopics().flatMap(({ event }): [string, JsonObject][] => {
    const data = standalone(event.data, event.dataschema, event.type)
    const headers = standalone(headersOf(event), `${event.dataschema}:headers`, `Headers of ${event.type}`)
    const path = `events/${versionedName(event)}`
    return [
      [`${path}.schema.json`, allowUnknownMembers(data)],
      [`${path}.headers.schema.json`, allowUnknownMembers(headers)],
    ]
  })
  return new Map([
    ...events,
    [
      'read-models/ImportJobDocument.schema.json',
      standalone(ImportJobDocument, 'urn:contact-import:read-models:ImportJobDocument', 'ImportJobDocument'),
    ],
  ])
}
