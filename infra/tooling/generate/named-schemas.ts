import type { TSchema } from '@sinclair/typebox'

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json }
export type JsonObject = { [member: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Plain JSON, without the symbols that TypeBox adds to schemas. */
export const jsonOf = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

/**
 * Replaces every named schema (one with `$id`) by `$ref: referTo(name)`. Adds the replaced schemas to `found` by name,
 * without `$id` and with references instead of nested named schemas.
 */
export function extractNamed(
  schema: TSchema,
  referTo: (name: string) => string,
  found: Map<string, JsonObject>,
): JsonObject {
  const visit = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const { $id, ...rest } = value
    const members: JsonObject = Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, visit(inner)]))
    if (typeof $id !== 'string') return members
    found.set($id, members)
    return { $ref: referTo($id) }
  }
  const visited = visit(jsonOf(schema))
  return isObject(visited) ? visited : {}
}

export function namesIn(schema: TSchema): ReadonlySet<string> {
  const found = new Map<string, JsonObject>()
  extractNamed(schema, (name) => name, found)
  return new Set(found.keys())
}

/** Sorts by name, so that the document does not depend on the order in which schemas are found. */
export const byName = (schemas: ReadonlyMap<string, JsonObject>): JsonObject =>
  Object.fromEntries([...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1)))
