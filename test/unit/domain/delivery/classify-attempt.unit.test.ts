import { describe, expect, test } from 'vitest'
import { classifyAttempt, judgeAttempt } from '#shared/domain/delivery/classify-attempt.ts'

const answered = (status: number) => classifyAttempt({ is: 'answered', status, retryAfter: null, durationMs: 5 })

describe('what an attempt shows about the AI system', () => {
  test.each([
    ...[200, 202].map((status) => [status, { is: 'delivered' }] as const),
    ...[400, 402, 409, 413, 422].map((status) => [status, { is: 'rejected' }] as const),
    ...[408, 425, 429, 500, 503].map((status) => [status, { is: 'failed' }] as const),
    ...[300, 301, 307, 399, 401, 403, 404, 405].map((status) => [status, { is: 'refused', status }] as const),
  ])('status %i: %o', (status, verdict) => {
    expect(judgeAttempt({ is: 'answered', status, retryAfter: null, durationMs: 5 })).toEqual(verdict)
  })

  test('no answer: failed', () => {
    expect(judgeAttempt({ is: 'unanswered', reason: 'timeout', durationMs: 10_000 })).toEqual({ is: 'failed' })
  })
})

describe('a response with status', () => {
  test.each([200, 201, 202, 204, 299])('%i is delivered', (status) => {
    expect(answered(status)).toEqual({ is: 'delivered', status })
  })

  test.each([
    [408, 'server_error'],
    [425, 'server_error'],
    [429, 'rate_limited'],
    [500, 'server_error'],
    [501, 'server_error'],
    [503, 'server_error'],
    [599, 'server_error'],
  ])('%i is retryable', (status, error) => {
    const judged = answered(status)
    expect(judged).toMatchObject({ is: 'retryable', error, message: expect.stringContaining(String(status)) })
  })

  test.each([
    [100, 'rejected'],
    [199, 'rejected'],
    [300, 'redirected'],
    [301, 'redirected'],
    [307, 'redirected'],
    [308, 'redirected'],
    [399, 'redirected'],
    [400, 'rejected'],
    [401, 'rejected'],
    [404, 'rejected'],
    [409, 'rejected'],
    [413, 'rejected'],
    [422, 'rejected'],
    [499, 'rejected'],
    [600, 'rejected'],
  ])('%i is final', (status, error) => {
    const judged = answered(status)
    expect(judged).toMatchObject({ is: 'final', error, message: expect.stringContaining(String(status)) })
  })
})

describe('a call without a response', () => {
  test.each(['timeout', 'connection_failed', 'answer_unreadable', 'address_refused'] as const)(
    'because of %s is retryable with this error code',
    (reason) => {
      const judged = classifyAttempt({ is: 'unanswered', reason, durationMs: 5 })
      expect(judged).toMatchObject({ is: 'retryable', error: reason })
    },
  )
})
