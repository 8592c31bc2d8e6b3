import { Ajv, type ErrorObject } from 'ajv'
import { ContactInput } from '#schemas/contact.ts'
import type { Fault, FaultCode } from '#schemas/errors.ts'
import { limits } from '#schemas/limits.ts'

/** One more than the response lists, so that the response can state that there are more. */
export const maxFaults = limits.faultsListed + 1

const options = { strict: true, strictTypes: false, coerceTypes: false, useDefaults: false } as const

const matchesSchema = new Ajv(options).compile<ContactInput>(ContactInput)
const findAllFaults = new Ajv({ ...options, allErrors: true }).compile<ContactInput>(ContactInput)

/** Faster than `contactFaults`, because it creates no JSON Pointers. */
export const isContact = (value: unknown): value is ContactInput =>
  matchesSchema(value) && fieldFaults(value, nowhere).length === 0

/** At most `maxFaults` violations of the schema and of limits that JSON Schema cannot express. */
export function contactFaults(value: unknown, pointer: string): readonly Fault[] {
  const place: Place = { pointer, exact: true }
  const faults = matchesSchema(value) ? [] : shapeFaults(value, place)
  return [...faults, ...fieldFaults(value, place)].slice(0, maxFaults)
}

/** The fault of a member with a longer name has the pointer of the object that contains the member. */
const maxNameLength = 256

type Place = { readonly pointer: string; readonly exact: boolean }

const nowhere: Place = { pointer: '', exact: false }

const below = ({ pointer, exact }: Place, name: string): Place =>
  exact && name.length <= maxNameLength
    ? { pointer: `${pointer}/${escapePointer(name)}`, exact }
    : { pointer, exact: false }

/** RFC 6901 §3. */
const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

function shapeFaults(value: unknown, place: Place): Fault[] {
  findAllFaults(excerptOf(value))
  return (findAllFaults.errors ?? []).flatMap((error) => shapeFault(error, place))
}

const isMember = (name: string): boolean => Object.hasOwn(ContactInput.properties, name)

/** Ajv reports one fault or all faults, possibly millions. Give Ajv only the members that the response can list. */
function excerptOf(value: unknown): unknown {
  if (!isBranch(value) || Array.isArray(value)) return value
  const entries: [string, unknown][] = Object.entries(value)
  return Object.fromEntries([
    ...entries.filter(([name]) => isMember(name)).map(([name, member]) => [name, firstItemsOf(member)]),
    ...entries.filter(([name]) => !isMember(name)).slice(0, maxFaults),
  ])
}

function firstItemsOf(member: unknown): unknown {
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
    // Ajv reports the violated limit of the name as a separate error.
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

function collectFieldFaults(branch: Branch, place: Place, level: number, faults: Fault[]): void {
  if (level > limits.fieldsDepth) {
    faults.push({ pointer: place.pointer, code: 'too_deep' })
    return
  }
  const isMap = !Array.isArray(branch)
  // `for…in` takes half the time of Object.entries. Objects from JSON.parse inherit no enumerable members.
  for (const name in branch) {
    if (faults.length >= maxFaults) return
    const value = branch[name]
    if (isMap && name === '__proto__') faults.push({ pointer: below(place, name).pointer, code: 'forbidden_name' })
    else if (isBranch(value)) collectFieldFaults(value, below(place, name), level + 1, faults)
  }
}
