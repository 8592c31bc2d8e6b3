import { parseArgs } from 'node:util'
import { StartFault } from '../backing-services/start-fault.ts'

const usage = 'Usage: npm run --silent chaos -- [--seed N] [--minutes M]'

export type ChaosOptions = {
  /** From 0 to 2^31 − 1. Without a seed, the command chooses one and prints it. */
  readonly seed?: number
  /** From 1 to 600. Default 5. */
  readonly minutes: number
}

/** Throws a `StartFault` for an unknown option or a number out of its range. */
export function readOptions(args: readonly string[]): ChaosOptions {
  const { seed, minutes } = parse(args)
  return {
    ...(seed !== undefined && { seed: wholeNumber('seed', seed, [0, 2 ** 31 - 1]) }),
    minutes: wholeNumber('minutes', minutes, [1, 600]),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { seed: { type: 'string' }, minutes: { type: 'string', default: '5' } },
    }).values
  } catch (error) {
    throw new StartFault(`${error instanceof Error ? error.message : 'The options cannot be read.'}\n${usage}`)
  }
}

function wholeNumber(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw new StartFault(`--${name} must be a whole number from ${least} to ${most}; it is "${text}".\n${usage}`)
}
