import { createHmac } from 'node:crypto'
import { type Dispatcher, errors, Pool } from 'undici'
import type { AiSystem, AttemptResult, ChunkRequest } from '#shared/ports/ai-system.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { AddressRefused, publicLookup, refusesHost } from './public-addresses.ts'

export type AiSystemOptions = {
  readonly url: URL
  readonly token?: string | undefined
  /** Standard Webhooks secrets, newest first; each adds a signature. Without secrets nothing is signed. */
  readonly signingSecrets?: readonly string[]
  readonly clock: Clock
  /** False refuses loopback, private and link-local addresses, also when a name resolves to one. */
  readonly allowPrivate?: boolean
  /** Maximum number of connections, which is also the maximum number of concurrent calls. */
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** Time limit of one call, including the wait for a connection and the response body. */
  readonly totalTimeoutMs?: number
}

/**
 * A client of the AI system (HTTP/1.1, persistent connections). Does not follow redirects. Ignores the response body:
 * reads at most 64 KiB of the body, and an error while reading does not change the result.
 */
export function createAiSystem(options: AiSystemOptions): AiSystem & { close(): Promise<void> } {
  const { url, clock, allowPrivate = true, connectTimeoutMs = 2_000, totalTimeoutMs = 10_000 } = options
  const refused = !allowPrivate && refusesHost(url.hostname)
  const pool = new Pool(url.origin, {
    connections: options.connections ?? 512,
    connect: { timeout: connectTimeoutMs, ...(allowPrivate ? {} : { lookup: publicLookup }) },
    allowH2: false, // one connection per call, so that a hanging call delays no other
    headersTimeout: 0, // each call has its own total time limit
    bodyTimeout: 0,
  })
  const path = url.pathname + url.search
  const sign = createWebhookSigner(options.signingSecrets ?? [])

  const headersOf = ({ body, idempotencyKey, correlationId, traceparent }: ChunkRequest): Record<string, string> => ({
    'content-type': 'application/json',
    'user-agent': 'contact-import-service',
    'idempotency-key': idempotencyKey,
    'x-correlation-id': correlationId,
    ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
    ...(traceparent ? { traceparent } : {}),
    ...sign(idempotencyKey, clock.now(), body),
  })

  return {
    async deliver(chunkRequest) {
      const began = performance.now()
      if (refused) return unanswered('address_refused', began)
      try {
        const request = { method: 'POST', path, headers: headersOf(chunkRequest), body: chunkRequest.body } as const
        const head = await oneCall(pool, request, totalTimeoutMs)
        if (head.status > 599) return unanswered('answer_unreadable', began) // not a status (RFC 9110 §15)
        return { is: 'answered', ...head, durationMs: elapsed(began) }
      } catch (error) {
        return unanswered(reasonOf(error), began)
      }
    },
    close: () => pool.destroy(),
  }
}

const elapsed = (began: number): number => Math.round(performance.now() - began)

type Reason = Extract<AttemptResult, { is: 'unanswered' }>['reason']

const unanswered = (reason: Reason, began: number): AttemptResult => ({
  is: 'unanswered',
  reason,
  durationMs: elapsed(began),
})

/** A connect time-out is `connection_failed`, because nothing was sent. */
function reasonOf(error: unknown): Reason {
  if (error instanceof AttemptTimedOut) return 'timeout'
  if (error instanceof AddressRefused) return 'address_refused'
  const unreadable = error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError
  return unreadable ? 'answer_unreadable' : 'connection_failed'
}

/** Standard Webhooks, symmetric scheme v1, with one signature per secret. Without secrets there are no headers. */
function createWebhookSigner(secrets: readonly string[]) {
  const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
  return (id: string, now: number, body: Uint8Array): Record<string, string> => {
    if (keys.length === 0) return {}
    const timestamp = String(Math.floor(now / 1000))
    const signatures = keys.map(
      (key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
    )
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
  }
}

type AnswerHead = { readonly status: number; readonly retryAfter: string | null }

class AttemptTimedOut extends Error {
  override readonly name = 'AttemptTimedOut'
}

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
}

const answerLimit = 64 * 1024

/** Not undici's `request`: creating a stream for the unused body takes a third of the time of a call. */
const oneCall = (dispatcher: Dispatcher, request: Dispatcher.DispatchOptions, withinMs: number): Promise<AnswerHead> =>
  new Promise((resolve, reject) => {
    let running: Dispatcher.DispatchController | undefined
    let head: AnswerHead | undefined
    let bytes = 0
    const end = (error?: Error): void => {
      clearTimeout(watchdog)
      if (head === undefined) reject(error)
      else resolve(head)
    }
    let late: AttemptTimedOut | undefined
    const watchdog = setTimeout(() => {
      late = new AttemptTimedOut()
      end(late) // undici cannot abort a call that still waits for its connection
      running?.abort(late)
    }, withinMs)
    dispatcher.dispatch(request, {
      onRequestStart(controller) {
        running = controller
        if (late !== undefined) controller.abort(late)
      },
      onResponseStart(_controller, status, headers) {
        // 1xx responses precede the final response (RFC 9110 §15.2).
        if (status >= 200) head = { status, retryAfter: [headers['retry-after']].flat()[0] ?? null }
      },
      onResponseData(controller, piece) {
        bytes += piece.length
        if (bytes > answerLimit) controller.abort(new AnswerTooLong())
      },
      onResponseEnd: () => end(),
      onResponseError: (_controller, error) => end(error),
    })
  })
