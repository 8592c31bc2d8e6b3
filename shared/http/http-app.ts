import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import helmet from '@fastify/helmet'
import type { Meter } from '@opentelemetry/api'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Language } from '#schemas/errors.ts'
import { contracts } from '#schemas/http/contracts.ts'
import { isUuid } from '#schemas/primitives.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import { createByteBudget } from './byte-budget.ts'
import { addDraining, addOverloadGuard, type OverloadLimits } from './load-shedding.ts'
import { allowedMethods, decodedPath, isWellFormed, originForm } from './request-target.ts'
import { createClientErrorHandler, type Exchange, sendError } from './send-error.ts'

declare module 'fastify' {
  interface FastifyRequest {
    readonly correlationId: string
    /** The language of the API client; null before authentication. Used if Accept-Language has no supported language. */
    locale: Language | null
    logFields: Record<string, unknown>
  }
}

export type HttpAppOptions = {
  readonly log: Log
  readonly bodyLimit?: number // bytes; a route can override it
  readonly trustedProxies?: readonly string[] // addresses or CIDR blocks; default: none
  readonly headersTimeoutMs?: number // to receive all headers
  readonly requestTimeoutMs?: number // to receive the whole request
  readonly responseIdleMs?: number // without progress while a response is written
  readonly maxHeldBytes?: number // default: for bodies of 8 MiB; see `heldBytesFor`
  readonly overload?: Partial<OverloadLimits>
  readonly meter?: Meter
}

const mebibyte = 1024 * 1024
const maxUrlLength = 8 * 1024 // RFC 9110 §4.1 recommends at least 8,000 octets

/**
 * The budget for bodies and responses in memory, for bodies of at most this size. One client may hold a quarter of it.
 * Dry runs need most: a body in gzip, the inflated body, and a response of up to three times its size.
 */
export function heldBytesFor(maxBodyBytes: number): number {
  const wanted = 32 * Math.max(maxBodyBytes, 8 * mebibyte)
  const quarterOfContainer = (process.constrainedMemory() || Number.POSITIVE_INFINITY) / 4
  return Math.max(16 * maxBodyBytes, Math.min(wanted, quarterOfContainer))
}

const healthUrls: ReadonlySet<string> = new Set([contracts.readLiveness.url, contracts.readReadiness.url])
const isHealth = ({ routeOptions }: FastifyRequest): boolean => healthUrls.has(routeOptions?.url ?? '')

/**
 * Creates the Fastify app of an HTTP process. Every error response has a `Problem` body. A known path with another method
 * gets a 405 with `Allow`. The app adds correlation ids, Helmet's default headers, and `no-store` under /v1. It limits
 * sizes and times and writes one log line per request.
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const { log } = options
  const openExchanges = new WeakMap<Socket, Exchange>()
  const onClientError = createClientErrorHandler(log, openExchanges)
  const app = fastify({
    ...serverOptions(options),
    frameworkErrors: (error, request, reply) => {
      prepare(request, reply)
      sendError(error, request, reply)
      logRequest(log, request, reply) // Fastify runs no hooks for these errors
    },
    clientErrorHandler: onClientError,
  })
  app.server.maxHeadersCount = 0 // no limit: Node would drop further headers silently; their total size is limited
  // Serve requests with an unknown Expect header. Node would respond with a 417 without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('correlationId', {
    getter() {
      return this.id
    },
  })
  app.decorateRequest('locale', null)
  app.decorateRequest('logFields')
  const methodsOf = allowedMethods(app)
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request) => {
    throw routingError(request, methodsOf)
  })
  await app.register(helmet)
  app.addHook('onRequest', async (request, reply) => {
    openExchanges.set(request.socket, { request, reply })
    prepare(request, reply)
    // Check this before the body parser runs: for an unknown content type, the parser would respond with 415, not 404.
    if (request.is404 || request.url.length > maxUrlLength) throw routingError(request, methodsOf)
    if (!isWellFormed(request.raw)) throw new ServiceError('bad_request')
  })
  addByteBudget(app, options)
  closeStalledResponses(app, options.responseIdleMs)
  addDraining(app, { exempt: isHealth })
  await addOverloadGuard(app, { exempt: isHealth, limits: options.overload })
  app.addHook('onResponse', async (request, reply) => {
    openExchanges.delete(request.socket)
    logRequest(log, request, reply)
  })
  return app
}

function addByteBudget(app: FastifyInstance, { maxHeldBytes, meter }: HttpAppOptions): void {
  const budget = createByteBudget(maxHeldBytes ?? heldBytesFor(8 * mebibyte))
  app.decorate('byteBudget', budget)
  meter
    ?.createObservableGauge('http.held', { unit: 'By', description: 'Bodies and unsent responses in memory' })
    .addCallback((result) => result.observe(budget.usedBytes()))
}

/** Closes the connection of a client that does not read its response. Node restarts the timer when bytes are sent. */
function closeStalledResponses(app: FastifyInstance, idleMs = 30_000): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.raw.setTimeout(idleMs, () => reply.raw.socket?.destroy())
    done(null, payload)
  })
}

const serverOptions = (options: HttpAppOptions) => {
  const { bodyLimit = mebibyte, headersTimeoutMs = 10_000, requestTimeoutMs = 60_000, trustedProxies = [] } = options
  return {
    bodyLimit,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestIdHeader: false,
    genReqId: ({ headers }: Pick<IncomingMessage, 'headers'>) => {
      const given = headers['x-correlation-id']
      return typeof given === 'string' && isUuid(given) ? given : randomUUID()
    },
    requestTimeout: requestTimeoutMs,
    rewriteUrl: ({ url = '/' }: { readonly url?: string | undefined }) => originForm(url),
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      requireHostHeader: false, // Node's error has no problem body; `isWellFormed` checks the header
    },
    return503OnClosing: false, // Fastify's error has no problem body; `addDraining` rejects requests
    routerOptions: { maxParamLength: maxUrlLength }, // an idempotency key that is too long gets a 404, as an unknown key does
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
  } as const
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  request.logFields = {}
  reply.header('x-correlation-id', request.id)
  if (decodedPath(request.url).startsWith('/v1')) reply.header('cache-control', 'no-store')
}

function routingError(request: FastifyRequest, methodsOf: (url: string) => readonly string[]): ServiceError {
  if (request.url.length > maxUrlLength) return new ServiceError('uri_too_long')
  const allow = methodsOf(request.url)
  return allow.length > 0 ? new ServiceError('method_not_allowed', { allow }) : new ServiceError('route_not_found')
}

/** Logs the route pattern and not the path, because a path can contain an idempotency key. */
function logRequest(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  const line = {
    correlation_id: request.id,
    method: request.method,
    route: request.routeOptions?.url ?? null,
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    ...request.logFields,
  }
  if (isHealth(request)) log.debug(line, 'request')
  else if (reply.statusCode === 500) log.error(line, 'request')
  else if (reply.statusCode > 500) log.warn(line, 'request')
  else log.info(line, 'request')
}

const closeWithinMs = 250

type HttpServerOptions = {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly drainMs?: number // the wait for open requests before their connections are closed
}

/**
 * The parts of an HTTP process. The listener starts before `parts` and stops after them, so that /healthz and /readyz
 * answer during the whole start and shutdown; other requests get a 503 then. A shutdown first waits for open requests.
 */
export const httpServer = ({ app, host, port, drainMs = 15_000 }: HttpServerOptions, parts: readonly Part[]) => {
  const listener: Part = {
    name: 'HTTP server',
    start: async () => {
      app.hold()
      await app.listen({ host, port })
    },
    stop: async () => {
      // Cuts connections of clients that have not finished sending a request.
      const deadline = setTimeout(() => app.server.closeAllConnections(), closeWithinMs)
      await app.close().finally(() => clearTimeout(deadline))
    },
  }
  const requests: Part = {
    name: 'HTTP requests',
    start: async () => app.serve(),
    stop: () => withDeadline(app.drain(), drainMs, () => app.server.closeAllConnections()),
  }
  return [listener, ...parts, requests]
}
