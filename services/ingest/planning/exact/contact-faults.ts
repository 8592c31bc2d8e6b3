import { Ajv, type ErrorObject } from 'ajv'
import { ContactInput } from '#schemas/contact.ts'
import type { Fault, FaultCode } from '#schemas/errors.ts'
import { limits } from '#schemas/limits.ts'

/** One more than is listed, so that the answer can say that there are others. */
export const faultsSought = limits.faultsListed + 1

/** No coercion, no defaults: what is wrong is refused. */
const options = { strict: true, strictTypes: false, coerceTypes: false, useDefaults: false } as const

const fitsSchema = new Ajv(options).compile<ContactInput>(ContactInput)
const everyFault = new Ajv({ ...options, allErrors: true }).compile<ContactInput>(ContactInput)

/** Whether nothing is wrong with the value as a contact. Says so without naming places, which is most of the work. */
export const isContact = (value: unknown): value is ContactInput =>
  fitsSchema(value) && fieldFaults(value, nowhere).length === 0

/**
 * What is wrong with the value as a contact, by the schema and by the bounds that JSON Schema cannot state; none when
 * it is one. At most `faultsSought`. Pointers begin with `pointer`, the place of the value in the body.
 */
export function contactFaults(value: unknown, pointer: string): readonly Fault[] {
  const place: Place = { pointer, exact: true }
  const faults = fitsSchema(value) ? [] : shapeFaults(value, place)
  return [...faults, ...fieldFaults(value, place)].slice(0, faultsSought)
}

/** Names longer than this are not repeated to whoever sent them: the fault is told of what holds them. */
const longestName = 256

/** Where a fault is: a JSON Pointer, or, not exact, that of the nearest place above that can be named. */
type Place = { readonly pointer: string; readonly exact: boolean }

const nowhere: Place = { pointer: '', exact: false }

const below = ({ pointer, exact }: Place, name: string): Place =>
  exact && name.length <= longestName
    ? { pointer: `${pointer}/${escapePointer(name)}`, exact }
    : { pointer, exact: false }

/** RFC 6901 §3. */
const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

function shapeFaults(value: unknown, place: Place): Fault[] {
  everyFault(excerptOf(value))
  return (everyFault.errors ?? []).flatMap((error) => shapeFault(error, place))
}

const isMember = (name: string): boolean => Object.hasOwn(ContactInput.properties, name)

/** Ajv finds one fault or all, and all may be millions: it is shown just enough to find those that are listed. */
function excerptOf(value: unknown): unknown {
  if (!isBranch(value) || Array.isArray(value)) return value
  const entries: [string, unknown][] = Object.entries(value)
  return Object.fromEntries([
    ...entries.filter(([name]) => isMember(name)).map(([name, member]) => [name, beginningOf(member)]),
    ...entries.filter(([name]) => !isMember(name)).slice(0, faultsSought),
  ])
}

function beginningOf(member: unknown): unknown {
  if (Array.isArray(member)) return member.slice(0, limits.tags + 1)
  return isBranch(member) ? Object.fromEntries(Object.entries(member).slice(0, limits.fields + 1)) : member
}

const faultCodes: Readonly<Record<string, FaultCode>> = {
  type: 'wrong_type',
  maxLength: 'too_long',
  minLength: 'too_short',
  maxItems: 'too_many',
  maxProperties: 'too_many',
}

const unknownField = (place: Place, name: string): Fault => ({
  pointer: below(place, name).pointer,
  code: 'unknown_field',
})

function shapeFault({ keyword, instancePath, params }: ErrorObject, place: Place): Fault[] {
  const pointer = place.pointer + instancePath
  switch (keyword) {
    case 'required':
      return [{ pointer: below({ ...place, pointer }, String(params.missingProperty)).pointer, code: 'required' }]
    case 'additionalProperties':
      return [unknownField({ ...place, pointer }, String(params.additionalProperty))]
    /** Says again what the fault of the name itself said. */
    case 'propertyNames':
      return []
    default:
      return [{ pointer, code: faultCodes[keyword] ?? 'invalid_format' }]
  }
}

type Branch = Readonly<Record<string, unknown>>

const isBranch = (value: unknown): value is Branch => typeof value === 'object' && value !== null

function fieldFaults(value: unknown, place: Place): readonly Fault[] {
  const faults: Fault[] = []
  const fields: unknown = isBranch(value) ? Reflect.get(value, 'additionalFields') : null
  if (isBranch(fields)) collectFieldFaults(fields, below(place, 'additionalFields'), 1, faults)
  return faults
}

/** Nesting and forbidden names inside `additionalFields`; the map itself is level 1. */
function collectFieldFaults(branch: Branch, place: Place, level: number, faults: Fault[]): void {
  if (level > limits.fieldsDepth) {
    faults.push({ pointer: place.pointer, code: 'too_deep' })
    return
  }
  const isMap = !Array.isArray(branch)
  // What JSON.parse made inherits nothing that is enumerable, and this takes half the time of Object.entries.
  for (const name in branch) {
    if (faults.length >= faultsSought) return
    const value = branch[name]
    if (isMap && name === '__proto__') faults.push({ pointer: below(place, name).pointer, code: 'forbidden_name' })
    else if (isBranch(value)) collectFieldFaults(value, below(place, name), level + 1, faults)
  }
}
