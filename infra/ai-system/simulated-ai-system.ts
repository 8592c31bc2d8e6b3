import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { answer } from './answer.ts'
import { behaviourChooser } from './choose-behaviour.ts'
import { chunkIn } from './chunk-body.ts'
import { createDeliveryCounts, type Received } from './delivery-counts.ts'
import { type Behaviour, checkedScript, type Script } from './script.ts'

export type { Received } from './delivery-counts.ts'
export type { Behaviour, Script } from './script.ts'

export type SimulatedAiSystemOptions = {
  /** 0 takes a free one. */
  readonly port?: number
  readonly host?: string
  /** Before each answer whose behaviour has no delay of its own. */
  readonly latencyMs?: number
  /** The share of requests that fail, 0 to 1, with `status` (503). */
  readonly failRate?: number
  /** Without `failRate`: what every request is answered. */
  readonly status?: number
  readonly script?: Script
  readonly seed?: number
}

export type SimulatedAiSystem = {
  /** Where chunks are posted; any path is taken. */
  readonly url: string
  received(): Received
  /** What requests from now on meet. Counts go on. */
  setBehaviour(script: Script): void
  /** Cuts every connection. Idempotent. */
  stop(): Promise<void>
}

/**
 * Takes chunks as the AI system does and counts them by Idempotency-Key; it keeps no contact. A body that is no chunk,
 * or that comes without a key, is counted as malformed and answered 400. GET /received has the counts, with
 * `?keys=true` also for each key; DELETE /received begins anew.
 */
export async function startSimulatedAiSystem(options: SimulatedAiSystemOptions = {}): Promise<SimulatedAiSystem> {
  const { port = 0, host = '127.0.0.1', seed = 1 } = options
  let choose = behaviourChooser(scriptOf(options), seed)
  let counts = createDeliveryCounts()

  function takeChunk(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const key = request.headers['idempotency-key']
    const chunk = chunkIn(body)
    if (chunk === null || typeof key !== 'string') {
      counts.malformed()
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"malformed"}')
      return
    }
    const counting = counts // an answer after a reset belongs to the counts before it
    const { entry, ...numbers } = counting.requested({ key, ...chunk })
    const chosen = choose({ key, ...chunk, ...numbers })
    const behaviour: Behaviour = { ...(options.latencyMs ? { delay_ms: options.latencyMs } : {}), ...chosen }
    answer({ response, behaviour, onStatus: (status) => counting.answered(entry, chunk.size, status) })
  }

  function tell(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname === '/received' && request.method === 'DELETE') {
      counts = createDeliveryCounts()
      response.writeHead(204).end()
    } else if (pathname === '/received' && request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (searchParams.get('keys') !== 'true') response.end(`${JSON.stringify(counts.received())}\n`)
      else pipeline(Readable.from(withKeys(counts)), response).catch(() => {}) // the reader left
    } else {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":"POST a chunk, GET or DELETE /received"}')
    }
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST') return tell(request, response)
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => takeChunk(request, response, Buffer.concat(parts)))
    request.on('error', () => {}) // the sender broke off: there is nobody to answer
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    received: () => counts.received(),
    setBehaviour: (script) => {
      choose = behaviourChooser(checkedScript(script), seed)
    },
    async stop() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function scriptOf({ failRate, status, script }: SimulatedAiSystemOptions): Script {
  const { rules = [], otherwise } = checkedScript(script ?? {})
  if (failRate === undefined) return { rules, otherwise: otherwise ?? (status === undefined ? {} : { status }) }
  return { rules: [...rules, { rate: failRate, behave: { status: status ?? 503 } }], otherwise: otherwise ?? {} }
}

/** One JSON object, piece by piece: with millions of keys it is longer than a string can be. */
function* withKeys(counts: ReturnType<typeof createDeliveryCounts>): Generator<string> {
  yield `${JSON.stringify(counts.received()).slice(0, -1)},"keys":[`
  let pending = ''
  let separator = ''
  for (const count of counts.keys()) {
    pending += separator + JSON.stringify(count)
    separator = ','
    if (pending.length > 64 * 1024) {
      yield pending
      pending = ''
    }
  }
  yield `${pending}]}\n`
}
