import { parseArgs } from 'node:util'
import { readScript } from './script.ts'
import type { SimulatedAiSystemOptions } from './simulated-ai-system.ts'

const usage =
  'npm run --silent ai-system -- --port P [--host H] [--latency MS] [--fail-rate 0..1] [--status S] [--script FILE] [--seed N]'

export class CommandInvalid extends Error {
  readonly code = 'config_invalid'

  constructor(faults: readonly string[]) {
    super([...faults.map((fault) => `  ${fault}`), `Usage: ${usage}`].join('\n'))
    this.name = 'CommandInvalid'
  }
}

const flags = {
  port: { type: 'string', default: '9090' },
  host: { type: 'string', default: '127.0.0.1' },
  latency: { type: 'string', default: '0' },
  'fail-rate': { type: 'string' },
  status: { type: 'string' },
  script: { type: 'string' },
  seed: { type: 'string', default: '1' },
} as const

export function parseCommand(args: readonly string[]): SimulatedAiSystemOptions {
  const values = read(args)
  const faults: string[] = []
  const number = (name: keyof typeof flags, [least, most]: readonly [number, number], whole = true) => {
    const text = values[name]
    if (text === undefined) return undefined
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (value >= least && value <= most && (!whole || Number.isInteger(value))) return value
    faults.push(
      `--${name} must be a ${whole ? 'whole ' : ''}number from ${least} to ${most}; the given value is "${text}".`,
    )
    return undefined
  }
  const options = withoutAbsent({
    port: number('port', [0, 65_535]),
    host: values.host,
    latencyMs: number('latency', [0, 3_600_000]),
    failRate: number('fail-rate', [0, 1], false),
    status: number('status', [200, 599]),
    seed: number('seed', [0, 2 ** 32 - 1]),
  })
  if (faults.length > 0) throw new CommandInvalid(faults)
  return { ...options, ...(values.script === undefined ? {} : { script: readScript(values.script) }) }
}

function read(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: flags }).values
  } catch (error) {
    throw new CommandInvalid([error instanceof Error ? error.message : 'The command line cannot be read.'])
  }
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function withoutAbsent<T extends object>(options: T): Present<T>
function withoutAbsent(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
