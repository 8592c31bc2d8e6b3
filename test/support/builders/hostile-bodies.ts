const bodyBytes = 2 * 1024 * 1024
/** At least the bytes of the contact around the list or object. */
const frameBytes = 200

function filled(unit: (index: number) => string): string {
  const units: string[] = []
  let bytes = frameBytes
  for (let index = 0; bytes < bodyBytes; index += 1) {
    const next = unit(index)
    units.push(next)
    bytes += next.length + 1
  }
  return units.slice(0, -1).join()
}

const contact = (fields: string): string => `{"phone":"+79991234567","additionalFields":{${fields}}}`
const list = (unit: (index: number) => string): string => contact(`"\\u0061":[${filled(unit)}]`)
const object = (unit: (index: number) => string): string => contact(`"a":{"\\u0061":0,${filled(unit)}}`)

/** Bodies of 2 MiB that the interface allows. With one object per JSON value, they would need up to 250 MB. */
export const hostileBodies: Readonly<Record<string, () => string>> = {
  'index-like names': () => list(() => '{"1":1}'),
  'large index-like names': () => list((index) => `{"${index * 997 + 100_000}":0}`),
  'numbers with a trailing zero': () => list(() => '1.0'),
  'nested lists': () => list(() => '[[[[[[]]]]]]'),
  'different names in one object': () => object((index) => `"${index.toString(36)}":0`),
  'different index-like names in one object': () => object((index) => `"${index}":0`),
  'different names with escapes in one object': () => object((index) => `"\\u0062${index.toString(36)}":0`),
  'a repeated name': () => object(() => '"b":0'),
  'escapes in strings': () => list(() => '"\\/"'),
  'one string of escapes': () => contact(`"a":"${'\\/'.repeat((bodyBytes - frameBytes) / 2)}"`),
}
