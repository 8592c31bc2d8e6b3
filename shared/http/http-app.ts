import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import helmet from '@fastify/helmet'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Language } from '#schemas/errors.ts'
import { contracts } from '#schemas/http/contracts.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Part } from '#shared/runtime/lifecycle.ts'
import type { Log } from '#shared/runtime/log.ts'
import { allowedMethods } from './allowed-methods.ts'
import { answerClientError, answerError, type Exchange } from './answer-error.ts'
import { addDraining } from './draining.ts'
import { addOverloadGuard, type OverloadLimits } from './overload.ts'
import { isUuid } from './request-headers.ts'
import { isWellFormed, originForm } from './request-target.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** X-Correlation-ID when it is a UUID, else a generated one. */
    readonly correlationId: string
    /** The language of the API client, once it is known; errors are told in it unless Accept-Language says otherwise. */
    locale: Language | null
    /** What the one log line of this request says beside method, route, status and duration. */
    facts: Record<string, unknown>
  }
}

export type HttpAppOptions = {
  readonly log: Log
  /** Bytes; routes may set their own. */
  readonly bodyLimit?: number
  /** Addresses or CIDR blocks whose X-Forwarded-For is believed; none by default. */
  readonly trustedProxies?: readonly string[]
  /** How long a client may take to send its headers, and the whole request, in milliseconds. */
  readonly headersTimeoutMs?: number
  readonly requestTimeoutMs?: number
  /** When a request is answered 503 instead of being served; sensible for any machine by default. */
  readonly overload?: Partial<OverloadLimits>
}

const mebibyte = 1024 * 1024
const longestUrl = 8 * 1024 // RFC 9110 §4.1 asks for at least 8,000 octets

/** Served as long as the process can answer at all. */
const healthUrls: ReadonlySet<string> = new Set([contracts.readLiveness.url, contracts.readReadiness.url])
const isHealth = ({ routeOptions }: FastifyRequest): boolean => healthUrls.has(routeOptions?.url ?? '')

/**
 * The ground every HTTP process stands on: any error on any path in the one shape, 405 with `Allow`, correlation ids,
 * Helmet's defaults, nothing under /v1 cached, bounded sizes and times, 503 when overloaded or draining, and one log
 * line per request.
 */
export async function createHttpApp(options: HttpAppOptions): Promise<FastifyInstance> {
  const { log, headersTimeoutMs = 10_000, requestTimeoutMs = 60_000, trustedProxies = [] } = options
  const underWay = new WeakMap<Socket, Exchange>()
  const app = fastify({
    logger: false,
    bodyLimit: options.bodyLimit ?? mebibyte,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-correlation-id']
      return typeof given === 'string' && isUuid(given) ? given : randomUUID()
    },
    requestTimeout: requestTimeoutMs,
    rewriteUrl: ({ url = '/' }) => originForm(url),
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      requireHostHeader: false, // Node's own answer has another shape; `isWellFormed` asks for it
    },
    return503OnClosing: false, // requests that made it here are still served; its own 503 has another shape
    routerOptions: { maxParamLength: longestUrl }, // a key of impossible length is an unknown key, not an unknown route
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    frameworkErrors: (error, request, reply) => {
      prepare(request, reply)
      answerError(error, request, reply)
      logExchange(log, request, reply) // no hook runs for these
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, log, underWay.get(socket)),
  })
  app.server.maxHeadersCount = 0 // their size is bounded; beyond a count Node would drop the rest without a word
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response)) // never a bare 417
  app.decorateRequest('correlationId', {
    getter() {
      return this.id
    },
  })
  app.decorateRequest('locale', null)
  app.decorateRequest('facts')
  const methodsOf = allowedMethods(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request) => {
    throw refusalOf(request, methodsOf)
  })
  await app.register(helmet)
  app.addHook('onRequest', async (request, reply) => {
    underWay.set(request.socket, { request, reply })
    prepare(request, reply)
    // Here and not in the handler, because Fastify would first complain about the body's type.
    if (request.is404 || request.url.length > longestUrl) throw refusalOf(request, methodsOf)
    if (!isWellFormed(request.raw)) throw new ServiceError('bad_request')
  })
  addDraining(app, { exempt: isHealth })
  await addOverloadGuard(app, { exempt: isHealth, limits: options.overload })
  app.addHook('onResponse', async (request, reply) => {
    underWay.delete(request.socket)
    logExchange(log, request, reply)
  })
  return app
}

function prepare(request: FastifyRequest, reply: FastifyReply): void {
  request.facts = {}
  reply.header('x-correlation-id', request.id)
  if (request.url.startsWith('/v1')) reply.header('cache-control', 'no-store')
}

function refusalOf(request: FastifyRequest, methodsOf: (url: string) => readonly string[]): ServiceError {
  if (request.url.length > longestUrl) return new ServiceError('uri_too_long')
  const allow = methodsOf(request.url)
  return allow.length > 0 ? new ServiceError('method_not_allowed', { allow }) : new ServiceError('route_not_found')
}

/** The route's pattern is logged, never the path: a path may hold a key. */
function logExchange(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  const line = {
    correlation_id: request.id,
    method: request.method,
    route: request.routeOptions?.url ?? null,
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    ...request.facts,
  }
  if (isHealth(request)) log.debug(line, 'request')
  else if (reply.statusCode === 500) log.error(line, 'request')
  else if (reply.statusCode > 500) log.warn(line, 'request')
  else log.info(line, 'request')
}

export type HttpServerOptions = {
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  /** How long requests under way may take to end before their connections are cut, in milliseconds. */
  readonly drainMs?: number
}

/** The listener as a part of a process. Stopping refuses new requests, lets those under way end and closes. */
export const httpServer = ({ app, host, port, drainMs = 15_000 }: HttpServerOptions): Part => ({
  name: 'HTTP server',
  start: async () => {
    await app.listen({ host, port })
  },
  stop: async () => {
    const cut = setTimeout(() => app.server.closeAllConnections(), drainMs)
    try {
      await app.drain()
      await app.close()
    } finally {
      clearTimeout(cut)
    }
  },
})
