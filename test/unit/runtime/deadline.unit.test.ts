import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { untilAborted, withDeadline } from '#shared/runtime/deadline.ts'

const never = new Promise<never>(() => {})

describe('withDeadline', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('returns the result of work that ends in time and clears the timer', async () => {
    const onTimeout = vi.fn(() => 'late')
    expect(await withDeadline(Promise.resolve('result'), 1_000, onTimeout)).toBe('result')
    expect(vi.getTimerCount()).toBe(0)
    expect(onTimeout).not.toHaveBeenCalled()
  })

  test('rejects with the error of the work and clears the timer', async () => {
    const error = new Error('failed')
    await expect(withDeadline(Promise.reject(error), 1_000, () => 'late')).rejects.toBe(error)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('returns the value of onTimeout when the time is over', async () => {
    const outcome = withDeadline(never, 1_000, () => 'late')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await outcome).toBe('late')
  })

  test('rejects with the error that onTimeout throws', async () => {
    const error = new Error('late')
    const outcome = withDeadline(never, 1_000, () => {
      throw error
    })
    const rejected = expect(outcome).rejects.toBe(error)
    await vi.advanceTimersByTimeAsync(1_000)
    await rejected
  })

  test('a rejection of the work after the deadline is handled', async () => {
    const work = Promise.withResolvers<string>()
    const outcome = withDeadline(work.promise, 1_000, () => 'late')
    await vi.advanceTimersByTimeAsync(1_000)
    work.reject(new Error('after the deadline'))
    expect(await outcome).toBe('late')
  })
})

describe('untilAborted', () => {
  test('resolves for a signal that is aborted already', async () => {
    await untilAborted(AbortSignal.abort())
  })

  test('resolves when the signal is aborted', async () => {
    const controller = new AbortController()
    const waiting = untilAborted(controller.signal)
    controller.abort()
    await waiting
  })
})
