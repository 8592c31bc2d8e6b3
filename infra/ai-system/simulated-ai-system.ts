import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { answer } from './answer.ts'
import { behaviourChooser } from './choose-behaviour.ts'
import { readChunk } from './chunk-body.ts'
import { createDeliveryCounts, type Received } from './delivery-counts.ts'
import { type Behaviour, parseScript, type Script } from './script.ts'

export type { Received } from './delivery-counts.ts'
export type { Behaviour, Script } from './script.ts'

export type SimulatedAiSystemOptions = {
  readonly port?: number
  readonly host?: string
  /** The delay before each answer. `delay_ms` of a behaviour overrides it. */
  readonly latencyMs?: number
  /** The share of requests that fail, 0 to 1. */
  readonly failRate?: number
  /** With `failRate`, the status of failed requests (default 503). Without `failRate`, the status of every answer. */
  readonly status?: number
  readonly script?: Script
  readonly seed?: number
  readonly onCall?: (call: ReceivedCall) => void
}

/** A request with a valid chunk. `status` is null when the request was not answered. */
export type ReceivedCall = {
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
  readonly receivedAt: number
  readonly status: number | null
}

export type SimulatedAiSystem = {
  /** The base URL. POST accepts chunks at any path. */
  readonly url: string
  received(): Received
  /** Changes the answers to later requests. Keeps the counts. */
  setBehaviour(script: Script): void
  stop(): Promise<void>
}

/**
 * An HTTP server that accepts chunks and counts them by Idempotency-Key. It stores no contacts. A POST without a key or
 * without a valid chunk is answered 400 and counted as malformed. GET /received returns the counts, with `?keys=true`
 * also the counts per key. DELETE /received resets the counts.
 */
export async function startSimulatedAiSystem(options: SimulatedAiSystemOptions = {}): Promise<SimulatedAiSystem> {
  const { port = 0, host = '127.0.0.1', seed = 1 } = options
  let choose = behaviourChooser(scriptOf(options), seed)
  let counts = createDeliveryCounts()

  function takeChunk(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const key = request.headers['idempotency-key']
    const chunk = readChunk(body)
    if (chunk === null || typeof key !== 'string') {
      counts.malformed()
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"malformed"}')
      return
    }
    const counting = counts // After a reset, the answer to an earlier request must not change the new counts.
    const { entry, ...numbers } = counting.requested({ key, ...chunk })
    const chosen = choose({ key, ...chunk, ...numbers })
    const behaviour: Behaviour = { ...(options.latencyMs ? { delay_ms: options.latencyMs } : {}), ...chosen }
    const receivedAt = Date.now()
    const onStatus = (status: number | null) => {
      counting.answered(entry, chunk.size, status)
      options.onCall?.({ body, headers: request.headers, receivedAt, status })
    }
    answer({ response, behaviour, onStatus })
  }

  function answerCounts(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname === '/received' && request.method === 'DELETE') {
      counts = createDeliveryCounts()
      response.writeHead(204).end()
    } else if (pathname === '/received' && request.method === 'GET') {
      sendCounts(response, counts, searchParams.get('keys') === 'true')
    } else {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":"POST a chunk, GET or DELETE /received"}')
    }
  }

  const server = createServer((request, response) => {
    if (request.method !== 'POST') return answerCounts(request, response)
    const parts: Buffer[] = []
    request.on('data', (part) => parts.push(part))
    request.on('end', () => takeChunk(request, response, Buffer.concat(parts)))
    request.on('error', () => {}) // Ignored: the client closed the connection.
  })
  return {
    url: await listen(server, host, port),
    received: () => counts.received(),
    setBehaviour: (script) => {
      choose = behaviourChooser(parseScript(script), seed)
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

function sendCounts(response: ServerResponse, counts: ReturnType<typeof createDeliveryCounts>, keys: boolean): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  if (!keys) response.end(`${JSON.stringify(counts.received())}\n`)
  else pipeline(Readable.from(withKeys(counts)), response).catch(() => {}) // Ignored: the client closed the connection.
}

async function listen(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  return `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`
}

function scriptOf({ failRate, status, script }: SimulatedAiSystemOptions): Script {
  const { rules = [], otherwise } = parseScript(script ?? {})
  if (failRate === undefined) return { rules, otherwise: otherwise ?? (status === undefined ? {} : { status }) }
  return { rules: [...rules, { rate: failRate, behave: { status: status ?? 503 } }], otherwise: otherwise ?? {} }
}

/** Yields one JSON object in pieces, because millions of keys exceed the maximum string length. */
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
