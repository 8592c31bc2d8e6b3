import fc from 'fast-check'

/** JSON values that a contact may contain. Excludes members named `__proto__`, which fast-check also generates. */
export const jsonValue = (constraints: fc.JsonSharedConstraints = {}): fc.Arbitrary<fc.JsonValue> =>
  fc.jsonValue(constraints).filter((value) => !namesProto(value))

const namesProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(namesProto))
