import { errors, Pool } from 'undici'
import type { AiSystem, AttemptResult, ChunkRequest } from '#shared/ports/ai-system.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { AttemptTimedOut, oneCall } from './one-call.ts'
import { AddressRefused, publicLookup, refusesHost } from './public-addresses.ts'
import { createWebhookSigner } from './webhook-signature.ts'

export type AiSystemOptions = {
  readonly url: URL
  readonly token?: string | undefined
  /** Standard Webhooks secrets, newest first; each adds a signature. Without secrets nothing is signed. */
  readonly signingSecrets?: readonly string[]
  readonly clock: Clock
  /** False refuses loopback, private and link-local addresses, also when a name resolves to one. */
  readonly allowPrivate?: boolean
  /** The most connections and therefore parallel calls. */
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** Time limit of one attempt, from its start to the end of the answer. */
  readonly totalTimeoutMs?: number
}

/**
 * The AI system over HTTP/1.1 with kept-alive connections. Redirects are not followed. The status alone is the result:
 * at most 64 KiB of the body are read, and an error while reading the body is ignored.
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

/** Classifies undici's errors. A connect time-out is `connection_failed`, because nothing was sent. */
function reasonOf(error: unknown): Reason {
  if (error instanceof AttemptTimedOut) return 'timeout'
  if (error instanceof AddressRefused) return 'address_refused'
  const unreadable = error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError
  return unreadable ? 'answer_unreadable' : 'connection_failed'
}
