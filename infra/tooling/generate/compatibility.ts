import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject } from './named-schemas.ts'

const annotations = new Set(['$id', '$schema', '$defs', '$comment', 'title', 'description', 'examples', 'deprecated'])

/** Keywords with rules of their own. Every other keyword must stay equal. */
const structural = new Set(['properties', 'required', 'items', 'anyOf'])

type Side = { readonly root: JsonObject; readonly schema: JsonObject }

/**
 * Returns one sentence per incompatible change. The only compatible changes are new optional members and annotations:
 * readers with the released schema can then read new records, and readers with the current schema can read old records.
 * Both schemas may refer to their own `$defs` only.
 */
export const incompatibilities = (released: JsonObject, current: JsonObject): readonly string[] =>
  compare(resolved({ root: released, schema: released }), resolved({ root: current, schema: current }), '')

function resolved(side: Side): Side {
  const { $ref } = side.schema
  if (typeof $ref !== 'string') return side
  const target = isObject(side.root.$defs) ? side.root.$defs[$ref.replace('#/$defs/', '')] : undefined
  if (!isObject(target)) throw new Error(`The schema has no definition for ${$ref}.`)
  return resolved({ root: side.root, schema: target })
}

const inside = ({ root }: Side, schema: Json | undefined): Side =>
  resolved({ root, schema: isObject(schema) ? schema : {} })

function compare(released: Side, current: Side, path: string): readonly string[] {
  return [
    ...compareProperties(released, current, path),
    ...compareItems(released, current, path),
    ...compareChoices(released, current, path),
    ...compareKeywords(released, current, path),
  ]
}

const at = (path: string): string => path || 'the data itself'
const namesOf = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []

function compareProperties(released: Side, current: Side, path: string): readonly string[] {
  const before = isObject(released.schema.properties) ? released.schema.properties : {}
  const after = isObject(current.schema.properties) ? current.schema.properties : {}
  const requiredBefore = new Set(namesOf(released.schema.required))
  const requiredAfter = new Set(namesOf(current.schema.required))
  const known = Object.keys(before).flatMap((name) => {
    const place = `${path}/${name}`
    if (!Object.hasOwn(after, name)) return [`${place} was removed.`]
    const optional = requiredBefore.has(name) && !requiredAfter.has(name) ? [`${place} may now be absent.`] : []
    const required =
      !requiredBefore.has(name) && requiredAfter.has(name) ? [`${place} is now required; older records lack it.`] : []
    return [...optional, ...required, ...compare(inside(released, before[name]), inside(current, after[name]), place)]
  })
  const added = Object.keys(after).filter((name) => !Object.hasOwn(before, name) && requiredAfter.has(name))
  return [...known, ...added.map((name) => `${path}/${name} is new and required; older records lack it.`)]
}

function compareItems(released: Side, current: Side, path: string): readonly string[] {
  const before = released.schema.items
  const after = current.schema.items
  if (before === undefined && after === undefined) return []
  if (before === undefined || after === undefined) return [`${at(path)} has items in one version only.`]
  return compare(inside(released, before), inside(current, after), `${path}/*`)
}

function compareChoices(released: Side, current: Side, path: string): readonly string[] {
  const optionsOf = (side: Side): readonly string[] =>
    Array.isArray(side.schema.anyOf) ? side.schema.anyOf.map((option) => JSON.stringify(plain(side.root, option))) : []
  const before = new Set(optionsOf(released))
  const after = new Set(optionsOf(current))
  return [
    ...[...before].filter((option) => !after.has(option)).map((option) => `${at(path)} no longer allows ${option}.`),
    ...[...after].filter((option) => !before.has(option)).map((option) => `${at(path)} now also allows ${option}.`),
  ]
}

function compareKeywords(released: Side, current: Side, path: string): readonly string[] {
  const keywords = new Set([...Object.keys(released.schema), ...Object.keys(current.schema)])
  return [...keywords].flatMap((keyword) => {
    if (annotations.has(keyword) || structural.has(keyword)) return []
    const before = released.schema[keyword]
    const after = current.schema[keyword]
    if (isDeepStrictEqual(plain(released.root, before), plain(current.root, after))) return []
    return [`${at(path)} has ${keyword} ${shown(after)} instead of ${shown(before)}.`]
  })
}

const shown = (value: Json | undefined): string => (value === undefined ? 'unset' : JSON.stringify(value))

/** Resolves references, removes annotations and sorts members, so that equal schemas have equal JSON. */
function plain(root: JsonObject, value: Json | undefined, isMap = false): Json | undefined {
  if (Array.isArray(value)) return value.map((one) => plain(root, one) ?? null)
  if (!isObject(value)) return value
  const { schema } = resolved({ root, schema: value })
  const members = Object.entries(schema)
    // Below `properties`, the keys are member names: a member may be called `title`.
    .filter(([name]) => isMap || !annotations.has(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    members.map(([name, one]) => [name, plain(root, one, !isMap && name === 'properties') ?? null]),
  )
}
