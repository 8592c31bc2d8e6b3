import { readFileSync } from 'node:fs'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Ajv } from 'ajv'

const Milliseconds = Type.Integer({ minimum: 0 })
/** One number, or the first and the last of a range. */
const Position = Type.Union([
  Type.Integer({ minimum: 1 }),
  Type.Array(Type.Integer({ minimum: 1 }), { minItems: 2, maxItems: 2 }),
])
const Where = Type.Union([Type.Literal('before_headers'), Type.Literal('within_body')])
const closed = { additionalProperties: false } as const

/** What is done with one request. Nothing given: 200 at once. */
export const Behaviour = Type.Object(
  {
    delay_ms: Type.Optional(Milliseconds),
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    retry_after: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** Never ends the answer. */
    hang: Type.Optional(Where),
    /** Breaks the connection off. */
    reset: Type.Optional(Where),
    /** Sends the body byte by byte, one in so many milliseconds. */
    drip_ms: Type.Optional(Milliseconds),
    /** An answer of this size instead of the usual one. */
    body_bytes: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 * 1024 ** 3 })),
    /** Redirects there, with status 307 unless another is given. */
    redirect_to: Type.Optional(Type.String()),
  },
  closed,
)
export type Behaviour = Static<typeof Behaviour>

const Rule = Type.Object(
  {
    /** All that is given must hold; `attempt` counts the requests with the same key, `request` all requests. */
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
    /** Of the requests that match, the share the rule takes. */
    rate: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    /** How many requests the rule takes before it is used up. */
    times: Type.Optional(Type.Integer({ minimum: 1 })),
    behave: Behaviour,
  },
  closed,
)
export type Rule = Static<typeof Rule>

/** The first rule that takes a request decides; `otherwise` is for the rest. */
export const Script = Type.Object(
  { rules: Type.Optional(Type.Array(Rule)), otherwise: Type.Optional(Behaviour) },
  closed,
)
export type Script = Static<typeof Script>

/** The script cannot be used. The message names each fault by its JSON Pointer. */
export class ScriptInvalid extends Error {
  readonly code = 'config_invalid'

  constructor(source: string, faults: readonly string[]) {
    super([`${source} is no script for the AI system:`, ...faults.map((fault) => `  ${fault}`)].join('\n'))
    this.name = 'ScriptInvalid'
  }
}

const compiled = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<Script>(plain(Script))

/** Throws `ScriptInvalid` for anything that is not a script. */
export function checkedScript(value: unknown, source = 'The value'): Script {
  if (compiled(value)) return value
  const faults = (compiled.errors ?? []).map(({ instancePath, message, params }) => {
    const unknown: unknown = params.additionalProperty
    return `${instancePath || '/'} ${message}${typeof unknown === 'string' ? ` ("${unknown}" is unknown)` : ''}`
  })
  throw new ScriptInvalid(source, [...new Set(faults)])
}

/** Reads a script file. Throws `ScriptInvalid` when it cannot be read, is not JSON or no script. */
export function readScript(file: string): Script {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new ScriptInvalid(file, ['the file cannot be read'])
  }
  try {
    return checkedScript(JSON.parse(text), file)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ScriptInvalid(file, [`it is not JSON: ${error.message}`])
  }
}

/** Without TypeBox's symbols, which Ajv's strict mode does not know what to make of. */
function plain(schema: TSchema): object {
  return structuredClone(schema)
}
