import { readFileSync } from 'node:fs'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'

const Milliseconds = Type.Integer({ minimum: 0 })
/** A number, or the first and last number of a range. */
const Position = Type.Union([
  Type.Integer({ minimum: 1 }),
  Type.Array(Type.Integer({ minimum: 1 }), { minItems: 2, maxItems: 2 }),
])
const Where = Type.Union([Type.Literal('before_headers'), Type.Literal('within_body')])
const closed = { additionalProperties: false } as const

/** The answer to one request. Without any member: 200 without delay. */
export const Behaviour = Type.Object(
  {
    delay_ms: Type.Optional(Milliseconds),
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    retry_after: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** Keeps the connection open without sending the rest of the response. */
    hang: Type.Optional(Where),
    reset: Type.Optional(Where),
    /** Sends the body byte by byte, with this delay between the bytes. */
    drip_ms: Type.Optional(Milliseconds),
    body_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 * 1024 ** 3 })),
    /** The `location` header. The default status is then 307. */
    redirect_to: Type.Optional(Type.String()),
  },
  closed,
)
export type Behaviour = Static<typeof Behaviour>

const Rule = Type.Object(
  {
    /** All members must match. `attempt` numbers the requests with the same key, `request` all requests. */
    match: Type.Optional(
      Type.Object(
        {
          attempt: Type.Optional(Position),
          request: Type.Optional(Position),
          key: Type.Optional(Type.String()),
          job_id: Type.Optional(Type.String()),
          chunk_index: Type.Optional(Type.Integer({ minimum: 0 })),
        },
        closed,
      ),
    ),
    /** The share of matching requests to which the rule applies. */
    rate: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    /** The maximum number of requests to which the rule applies. No limit by default. */
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    behave: Behaviour,
  },
  closed,
)
export type Rule = Static<typeof Rule>

/** The first rule that applies sets the behaviour. `otherwise` is the behaviour when no rule applies. */
export const Script = Type.Object(
  { rules: Type.Optional(Type.Array(Rule)), otherwise: Type.Optional(Behaviour) },
  closed,
)
export type Script = Static<typeof Script>

export class ScriptInvalid extends Error {
  readonly code = 'config_invalid'

  constructor(source: string, faults: readonly string[]) {
    super([`${source} is not a valid script for the AI system:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    this.name = 'ScriptInvalid'
  }
}

const compiled = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<Script>(plain(Script))

/** Throws `ScriptInvalid` when the value is not a script. */
export function parseScript(value: unknown, source = 'The value'): Script {
  if (compiled(value)) return value
  const faults = (compiled.errors ?? []).map(({ instancePath, message, params }) => {
    const unknown: unknown = params.additionalProperty
    return `${instancePath || '/'} ${message}${typeof unknown === 'string' ? ` ("${unknown}" is unknown)` : ''}`
  })
  throw new ScriptInvalid(source, [...new Set(faults)])
}

/** Throws `ScriptInvalid` when the file cannot be read or does not contain a script in JSON. */
export function readScript(file: string): Script {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new ScriptInvalid(file, ['the file cannot be read'])
  }
  try {
    return parseScript(JSON.parse(text), file)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ScriptInvalid(file, [`it is not JSON: ${error.message}`])
  }
}

/** Removes TypeBox's symbols, which Ajv's strict mode refuses. */
function plain(schema: TSchema): object {
  return structuredClone(schema)
}
