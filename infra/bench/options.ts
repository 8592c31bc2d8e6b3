import { parseArgs } from 'node:util'

export type Given = Readonly<Record<string, string | undefined>>

export function refuse(sentence: string): never {
  console.error(sentence)
  process.exit(2)
}

export function optionsFrom(usage: string, names: readonly string[]): Given {
  try {
    const { values } = parseArgs({
      options: Object.fromEntries(names.map((name) => [name, { type: 'string' }] as const)),
      strict: true,
    })
    return Object.fromEntries(names.map((name) => [name, textOf(values[name])]))
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : 'The options are wrong.'} Usage: ${usage}`)
  }
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

type Bounds = { readonly fallback: number; readonly min: number; readonly max: number }

/** An integer, or `fallback` when the option is absent. A number out of bounds ends the program. */
export function numberOption(given: Given, name: string, { fallback, min, max }: Bounds): number {
  const text = given[name]
  if (text === undefined) return fallback
  const number = Number(text)
  if (!/^\d+$/.test(text) || number < min || number > max) {
    refuse(`--${name} must be a whole number from ${min} to ${max}.`)
  }
  return number
}
