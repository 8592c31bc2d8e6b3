import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { finished } from 'node:stream'
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify'
import { negotiateLanguage } from '#shared/errors/language.ts'
import { problemFor } from '#shared/errors/problem.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Log } from '#shared/runtime/log.ts'

/** Sends the error as a `Problem` and adds it to the log line of the request. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const language = negotiateLanguage(request.headers['accept-language'], request.locale ?? 'en')
  const cause =
    request.raw.destroyed && !request.raw.complete ? new ServiceError('bad_request', { cause: error }) : error
  const { status, headers, body } = problemFor(cause, { language, correlationId: request.id })
  request.logFields.error = body.error
  if (status >= 500) request.logFields.err = error
  return reply.code(status).headers(headers).send(JSON.stringify(body))
}

export type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/**
 * Handles the errors of Node's parser and the timeouts of a request. Bytes after a complete request are not part of
 * it: the handler waits for the response of that request, and then rejects the bytes.
 */
export function createClientErrorHandler(log: Log, openExchanges: WeakMap<Socket, Exchange>) {
  const rejected = new WeakSet<Socket>()
  return (error: ConnectionError, socket: Socket): void => {
    if (rejected.has(socket)) return
    rejected.add(socket)
    const open = openExchanges.get(socket)
    if (open?.request.raw.complete && !open.reply.raw.writableFinished && socket.writable) {
      finished(open.reply.raw, () => sendClientError(error, socket, log))
    } else {
      sendClientError(error, socket, log, open)
    }
  }
}

/**
 * Writes an error response to the socket of a request that Node's parser rejected or that timed out, and closes the
 * socket. `open` is the exchange of this request if Fastify has read the headers: the response then has its correlation
 * id, language and headers. Sends nothing if a response has started or the client has disconnected.
 */
function sendClientError(error: ConnectionError, socket: Socket, log: Log, open?: Exchange): void {
  if (error.code === 'ECONNRESET' || !socket.writable || responseStarted(socket)) {
    socket.destroy()
    return
  }
  const cause = urlTooLong(error) ? new ServiceError('uri_too_long', { cause: error }) : error
  const request = open?.request
  const correlationId = request?.id ?? randomUUID()
  const language = negotiateLanguage(request?.headers['accept-language'], request?.locale ?? 'en')
  const { status, headers, body } = problemFor(cause, { language, correlationId })
  const text = JSON.stringify(body)
  const head = {
    'x-correlation-id': correlationId,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...open?.reply.getHeaders(),
    ...headers,
    'content-length': Buffer.byteLength(text),
    connection: 'close',
    date: new Date().toUTCString(),
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`)
  socket.write([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n'))
  socket.destroySoon()
  const requestFields = request && {
    method: request.method,
    route: request.routeOptions.url ?? null,
    ...request.logFields,
  }
  log.info(
    { correlation_id: correlationId, ...requestFields, status, error: body.error, code: error.code },
    'invalid or slow request rejected',
  )
}

/** Node has no public API for this. Its default handler reads the same private field. */
function responseStarted(socket: Socket): boolean {
  const response: unknown = Reflect.get(socket, '_httpMessage')
  return typeof response === 'object' && response !== null && Reflect.get(response, 'headersSent') === true
}

/** Node's parser counts the request line as part of the headers, so it reports a long URL as a header overflow. */
function urlTooLong(error: ConnectionError): boolean {
  if (error.code !== 'HPE_HEADER_OVERFLOW') return false
  const packet: unknown = error.rawPacket
  return packet instanceof Uint8Array && /^[A-Z]+ \S{8192}/.test(Buffer.from(packet).toString('latin1'))
}
