import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify'
import { negotiateLanguage } from '#shared/errors/language.ts'
import { problemFor } from '#shared/errors/problem.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Log } from '#shared/runtime/log.ts'

/** Answers a request with what `problemFor` makes of the error, and leaves the error in the request's log line. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const language = negotiateLanguage(request.headers['accept-language'], request.locale ?? 'en')
  const cause =
    request.raw.destroyed && !request.raw.complete ? new ServiceError('bad_request', { cause: error }) : error
  const { status, headers, body } = problemFor(cause, { language, correlationId: request.id })
  request.facts.error = body.error
  if (status >= 500) request.facts.err = error
  return reply.code(status).headers(headers).send(JSON.stringify(body))
}

/** A request whose headers are here, and its reply. */
export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/**
 * Answers what Node's parser refused, or what came too slowly, on the bare connection and closes it. When the headers
 * of the request were read already, the answer has all that its reply has by then: its correlation id, its language,
 * what is left of its client's rate. Stays silent when a response is on its way already or nobody listens.
 */
export function answerClientError(error: ConnectionError, socket: Socket, log: Log, begun?: Exchange): void {
  if (error.code === 'ECONNRESET' || !socket.writable || responseBegun(socket)) {
    socket.destroy()
    return
  }
  const cause = lineTooLong(error) ? new ServiceError('uri_too_long', { cause: error }) : error
  const request = begun?.request
  const correlationId = request?.id ?? randomUUID()
  const language = negotiateLanguage(request?.headers['accept-language'], request?.locale ?? 'en')
  const { status, headers, body } = problemFor(cause, { language, correlationId })
  const text = JSON.stringify(body)
  const head = {
    'x-correlation-id': correlationId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...begun?.reply.getHeaders(),
    ...headers,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    date: new Date().toUTCString(),
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
  socket.destroySoon()
  const known = request && { method: request.method, route: request.routeOptions.url ?? null, ...request.facts }
  log.info(
    { correlation_id: correlationId, ...known, status, error: body.error, code: error.code },
    'request cut short',
  )
}

/** As Node's own handler does it; there is no public way to ask. */
function responseBegun(socket: Socket): boolean {
  const response: unknown = Reflect.get(socket, '_httpMessage')
  return typeof response === 'object' && response !== null && Reflect.get(response, 'headersSent') === true
}

/** The parser counts the request line among the headers; when that line alone is too long, the URL is to blame. */
function lineTooLong(error: ConnectionError): boolean {
  if (error.code !== 'HPE_HEADER_OVERFLOW') return false
  const packet: unknown = error.rawPacket
  return packet instanceof Uint8Array && /^[A-Z]+ \S{8192}/.test(Buffer.from(packet).toString('latin1'))
}
