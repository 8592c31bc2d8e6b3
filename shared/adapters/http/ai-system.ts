import { errors, Pool } from 'undici'
import type { AiSystem, AttemptResult, ChunkDelivery } from '#shared/ports/ai-system.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { AttemptTimedOut, oneCall } from './one-call.ts'
import { AddressRefused, publicLookup, refusesHost } from './public-addresses.ts'
import { createWebhookSigner } from './webhook-signature.ts'

export type AiSystemOptions = {
  readonly url: URL
  readonly token?: string | undefined
  /** Standard Webhooks secrets, newest first; each signs. None: nothing is signed. */
  readonly signingSecrets?: readonly string[]
  readonly clock: Clock
  /** False refuses loopback, private and link-local addresses, whatever the name resolves to. */
  readonly allowPrivate?: boolean
  /** The most connections, and so calls, at a time. */
  readonly connections?: number
  readonly connectTimeoutMs?: number
  /** One attempt from its first byte to the end of the answer. */
  readonly totalTimeoutMs?: number
}

/**
 * The AI system over HTTP/1.1 with connections kept alive. Redirects are not followed. As soon as the status is known
 * it is the result: of the body at most 64 KiB are read, and what becomes of the body changes nothing.
 */
export function createAiSystem(options: AiSystemOptions): AiSystem & { close(): Promise<void> } {
  const { url, clock, allowPrivate = true, connectTimeoutMs = 2_000, totalTimeoutMs = 10_000 } = options
  const refused = !allowPrivate && refusesHost(url.hostname)
  const pool = new Pool(url.origin, {
    connections: options.connections ?? 512,
    connect: { timeout: connectTimeoutMs, ...(allowPrivate ? {} : { lookup: publicLookup }) },
    allowH2: false, // a call has its connection to itself, so that one that hangs holds up no other
    headersTimeout: 0, // the watchdog of each call covers all of it
    bodyTimeout: 0,
  })
  const path = url.pathname + url.search
  const sign = createWebhookSigner(options.signingSecrets ?? [])

  const headersOf = ({ body, idempotencyKey, correlationId, traceparent }: ChunkDelivery): Record<string, string> => ({
    'content-type': 'application/json',
    'user-agent': 'contact-import-service',
    'idempotency-key': idempotencyKey,
    'x-correlation-id': correlationId,
    ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
    ...(traceparent ? { traceparent } : {}),
    ...sign(idempotencyKey, clock.now(), body),
  })

  return {
    async deliver(chunk) {
      const began = performance.now()
      if (refused) return unanswered('address_refused', began)
      try {
        const request = { method: 'POST', path, headers: headersOf(chunk), body: chunk.body } as const
        const head = await oneCall(pool, request, totalTimeoutMs)
        if (head.status > 599) return unanswered('answer_unreadable', began) // RFC 9110 §15 knows no such status
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

/** By undici's error classes. A connection that is not made in time is a failed connection: nothing was sent. */
function reasonOf(error: unknown): Reason {
  if (error instanceof AttemptTimedOut) return 'timeout'
  if (error instanceof AddressRefused) return 'address_refused'
  const unreadable = error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError
  return unreadable ? 'answer_unreadable' : 'connection_failed'
}
