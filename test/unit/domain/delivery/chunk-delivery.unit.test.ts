import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ChunkFailedEvent,
  ChunkRetryScheduledEvent,
  ChunkSentEvent,
  type DeliveryEvent,
} from '#schemas/events/deliveries.ts'
import {
  type ChunkDelivery,
  decideOutcome,
  evolve,
  initialState,
  mergeAttempts,
  nextAction,
} from '#shared/domain/delivery/chunk-delivery.ts'
import type { AttemptResult } from '#shared/domain/delivery/classify-attempt.ts'
import { deliveryEventOf } from '#test/support/builders/arbitrary-events.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const jobId = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const now = Date.parse('2026-01-31T09:30:00.000Z')
const at = (ms: number): string => new Date(now + ms).toISOString()
const about = { job_id: jobId, chunk_index: 3, size: 100, duration_ms: 40 }
const fault = { response_status_code: 503, error_code: 'server_error', error_message: 'failed' } as const

const sent = (attempt: number): DeliveryEvent => ({
  type: 'ChunkSent',
  data: { ...about, attempt, sent_at: at(0), response_status_code: 200 },
})
const failed = (attempt: number): DeliveryEvent => ({
  type: 'ChunkFailed',
  data: { ...about, attempt, failed_at: at(0), ...fault },
})
const retry = (attempt: number, nextMs = 1_000): DeliveryEvent => ({
  type: 'ChunkRetryScheduled',
  data: { ...about, attempt, attempted_at: at(0), ...fault, next_attempt_at: at(nextMs), delay_reason: 'schedule' },
})
const replanned = (attempts: number): DeliveryEvent => ({
  type: 'ChunkReplanned',
  data: { job_id: jobId, chunk_index: 3, size: 100, attempts, superseded_offset: '7' },
})

const given = (...events: readonly DeliveryEvent[]): ChunkDelivery => events.reduce(evolve, initialState)
const anyEvents = fc.array(deliveryEventOf(jobId, 3, 100), { maxLength: 12 })

describe('the state of a chunk', () => {
  test('is pending before the first event', () => {
    expect(given()).toEqual({ status: 'pending', attempts: 0 })
  })

  test('goes through retries to its outcome', () => {
    expect(given(retry(1))).toEqual({ status: 'retrying', attempts: 1, nextAttemptAt: now + 1_000 })
    expect(given(retry(1), retry(2, 5_000))).toEqual({ status: 'retrying', attempts: 2, nextAttemptAt: now + 5_000 })
    expect(given(retry(1), sent(2))).toEqual({ status: 'sent', attempts: 2 })
    expect(given(retry(1), failed(2))).toEqual({ status: 'failed', attempts: 2 })
  })

  test('keeps the first of two outcomes', () => {
    expect(given(sent(1), failed(2))).toEqual({ status: 'sent', attempts: 1 })
    expect(given(failed(1), sent(2))).toEqual({ status: 'failed', attempts: 1 })
    expect(given(sent(1), retry(2))).toEqual({ status: 'sent', attempts: 1 })
  })

  test('ignores an attempt that is not newer than the last one', () => {
    expect(given(retry(2, 9_000), retry(1), retry(2, 1_000))).toEqual(given(retry(2, 9_000)))
  })

  test('takes only the number of attempts from ChunkReplanned', () => {
    expect(given(replanned(2))).toEqual({ status: 'pending', attempts: 2 })
    expect(given(retry(3), replanned(2))).toEqual(given(retry(3)))
    expect(given(retry(1, 700), replanned(4))).toEqual({ status: 'retrying', attempts: 4, nextAttemptAt: now + 700 })
    expect(given(sent(1), replanned(4))).toEqual({ status: 'sent', attempts: 1 })
  })

  test('does not change when an event is read twice', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const state = given(...events)
        for (const event of events) expect(evolve(state, event)).toBe(state)
      }),
    )
  })

  test('never loses attempts and never changes an outcome', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        let state: ChunkDelivery = initialState
        for (const event of events) {
          const next = evolve(state, event)
          expect(next.attempts).toBeGreaterThanOrEqual(state.attempts)
          if (state.status === 'sent' || state.status === 'failed') expect(next).toBe(state)
          state = next
        }
      }),
    )
  })
})

describe('the attempts in the headers of a repeat', () => {
  const waiting = { attempts: 2, notBefore: now + 3_000 }

  test('are used when no event of the chunk is known', () => {
    expect(mergeAttempts(initialState, waiting)).toEqual({
      status: 'retrying',
      attempts: 2,
      nextAttemptAt: now + 3_000,
    })
    expect(mergeAttempts(initialState, { attempts: 0, notBefore: null })).toBe(initialState)
    expect(mergeAttempts(initialState, { attempts: 2, notBefore: null })).toEqual({ status: 'pending', attempts: 2 })
  })

  test('are used only when they are newer than the logged attempts', () => {
    expect(mergeAttempts(given(retry(3)), waiting)).toEqual(given(retry(3)))
    expect(mergeAttempts(given(retry(2, 9_000)), waiting)).toEqual(given(retry(2, 9_000)))
    expect(mergeAttempts(given(retry(1)), waiting)).toMatchObject({ attempts: 2, nextAttemptAt: now + 3_000 })
    expect(mergeAttempts(given(replanned(2)), waiting)).toMatchObject({ status: 'retrying', attempts: 2 })
  })

  test('do not change an outcome', () => {
    expect(mergeAttempts(given(sent(1)), waiting)).toEqual(given(sent(1)))
    expect(mergeAttempts(given(failed(1)), waiting)).toEqual(given(failed(1)))
  })

  test('are used when they are larger', () => {
    const header = fc.record({ attempts: fc.nat({ max: 8 }), notBefore: fc.option(fc.constant(now)) })
    fc.assert(
      fc.property(anyEvents, header, (events, repeat) => {
        const state = given(...events)
        const merged = mergeAttempts(state, repeat)
        if (state.status === 'sent' || state.status === 'failed') expect(merged).toBe(state)
        else expect(merged.attempts).toBe(Math.max(state.attempts, repeat.attempts))
        expect(mergeAttempts(merged, repeat)).toEqual(merged)
      }),
    )
  })
})

describe('the next action', () => {
  test('sends a pending chunk', () => {
    expect(nextAction(given(), now)).toEqual({ do: 'send', attempt: 1 })
    expect(nextAction(given(replanned(2)), now)).toEqual({ do: 'send', attempt: 3 })
  })

  test('waits exactly until the next attempt is due', () => {
    expect(nextAction(given(retry(1)), now + 999)).toEqual({ do: 'wait', until: now + 1_000 })
    expect(nextAction(given(retry(1)), now + 1_000)).toEqual({ do: 'send', attempt: 2 })
  })

  test('is nothing for a resolved chunk', () => {
    expect(nextAction(given(sent(1)), now)).toEqual({ do: 'nothing' })
    expect(nextAction(given(failed(1)), now)).toEqual({ do: 'nothing' })
  })
})

describe('the event after an attempt', () => {
  const schedule = [500, 2_000]
  const answered = (status: number, retryAfter: string | null = null): AttemptResult => ({
    is: 'answered',
    status,
    retryAfter,
    durationMs: 40.4,
  })
  const when = (state: ChunkDelivery, result: AttemptResult): DeliveryEvent =>
    decideOutcome({
      chunk: { jobId, chunkIndex: 3, size: 100 },
      state,
      result,
      startedAt: now - 40,
      now,
      schedule,
      random: 0.5,
    })

  test('is ChunkSent for a 2xx', () => {
    expect(when(given(), answered(202))).toEqual({
      type: 'ChunkSent',
      data: { ...about, attempt: 1, sent_at: at(0), response_status_code: 202 },
    })
  })

  test('is ChunkRetryScheduled while the schedule has a further delay', () => {
    expect(when(given(retry(1)), answered(503))).toEqual({
      type: 'ChunkRetryScheduled',
      data: {
        ...about,
        attempt: 2,
        attempted_at: at(-40),
        response_status_code: 503,
        error_code: 'server_error',
        error_message: 'The AI system failed (status 503).',
        next_attempt_at: at(1_000),
        delay_reason: 'schedule',
      },
    })
  })

  test('uses Retry-After as the delay', () => {
    expect(when(given(), answered(429, '7'))).toMatchObject({
      type: 'ChunkRetryScheduled',
      data: { next_attempt_at: at(7_000), delay_reason: 'retry_after', error_code: 'rate_limited' },
    })
  })

  test('is ChunkFailed when the schedule has no further delay', () => {
    expect(when(given(retry(1), retry(2)), { is: 'unanswered', reason: 'timeout', durationMs: 40 })).toEqual({
      type: 'ChunkFailed',
      data: {
        ...about,
        attempt: 3,
        failed_at: at(0),
        response_status_code: null,
        error_code: 'timeout',
        error_message: 'The AI system did not answer in time.',
      },
    })
  })

  test('is ChunkFailed for a final status, also with Retry-After', () => {
    expect(when(given(), answered(400, '7'))).toMatchObject({ type: 'ChunkFailed', data: { attempt: 1 } })
  })

  test('has no status when the number is not a valid HTTP status', () => {
    expect(when(given(), answered(999))).toMatchObject({ type: 'ChunkFailed', data: { response_status_code: null } })
  })

  test('is valid, and the number of attempts is at most the number of delays plus one', () => {
    const result = fc.oneof(
      fc.record({
        is: fc.constant('answered' as const),
        status: fc.integer({ min: 100, max: 999 }),
        retryAfter: fc.option(fc.oneof(fc.string(), fc.nat().map(String))),
        durationMs: fc.double({ min: 0, max: 10_000, noNaN: true }),
      }),
      fc.record({
        is: fc.constant('unanswered' as const),
        reason: fc.constantFrom('timeout', 'connection_failed', 'answer_unreadable', 'address_refused'),
        durationMs: fc.double({ min: 0, max: 10_000, noNaN: true }),
      }),
    )
    const schemas = {
      ChunkSent: ChunkSentEvent.data,
      ChunkFailed: ChunkFailedEvent.data,
      ChunkRetryScheduled: ChunkRetryScheduledEvent.data,
    }
    fc.assert(
      fc.property(fc.infiniteStream(result), (results) => {
        let state: ChunkDelivery = initialState
        while (nextAction(state, Number.MAX_SAFE_INTEGER).do === 'send') {
          const event = when(state, results.next().value)
          if (event.type === 'ChunkReplanned') throw new Error('An attempt must not result in ChunkReplanned.')
          expect(faultsOf(schemas[event.type], event.data)).toEqual([])
          state = evolve(state, event)
        }
        expect(state.attempts).toBeLessThanOrEqual(schedule.length + 1)
        expect(['sent', 'failed']).toContain(state.status)
      }),
      { numRuns: 25 },
    )
  })
})
