import { describe, expect, test, vi } from 'vitest'
import { exponentialDelays, fixedDelay, pauseFor, retry, tryAgain } from '#shared/runtime/retry.ts'

const recordedPauses = () => {
  const waited: number[] = []
  const pause = async (ms: number): Promise<void> => {
    waited.push(ms)
  }
  return { waited, pause }
}

const ignore = (): void => {}

const failing = (times: number, error: Error = new Error('failed')) => {
  return async (attempt: number): Promise<number> => {
    if (attempt <= times) throw error
    return attempt
  }
}

describe('retry', () => {
  test('returns the first result without a pause', async () => {
    const { waited, pause } = recordedPauses()
    expect(await retry(failing(0), { delays: [1], pause })).toEqual({ is: 'done', value: 1 })
    expect(waited).toEqual([])
  })

  test('repeats a step that throws and reports each error', async () => {
    const { waited, pause } = recordedPauses()
    const error = new Error('failed')
    const onError = vi.fn()
    const result = await retry(failing(3, error), {
      delays: exponentialDelays({ firstMs: 100, mostMs: 200 }),
      onError,
      pause,
    })
    expect(result).toEqual({ is: 'done', value: 4 })
    expect(waited).toEqual([100, 200, 200])
    expect(onError.mock.calls).toEqual([
      [error, 1],
      [error, 2],
      [error, 3],
    ])
  })

  test('repeats a step that returns tryAgain', async () => {
    const { waited, pause } = recordedPauses()
    const result = await retry(async (attempt) => (attempt < 3 ? tryAgain : 'result'), { delays: fixedDelay(5), pause })
    expect(result).toEqual({ is: 'done', value: 'result' })
    expect(waited).toEqual([5, 5])
  })

  test('an error without onError is thrown at once', async () => {
    const { waited, pause } = recordedPauses()
    await expect(retry(failing(1), { delays: fixedDelay(1), pause })).rejects.toThrow('failed')
    expect(waited).toEqual([])
  })

  test('an error that onError throws ends the retries', async () => {
    const onError = (error: unknown): never => {
      throw error
    }
    await expect(retry(failing(1), { delays: fixedDelay(1), onError })).rejects.toThrow('failed')
  })

  test('gives up with the last error when the delays end', async () => {
    const { waited, pause } = recordedPauses()
    const error = new Error('failed')
    const result = await retry(failing(9, error), { delays: [1, 2], onError: ignore, pause })
    expect(result).toEqual({ is: 'given_up', lastError: error })
    expect(waited).toEqual([1, 2])
  })

  test('gives up when the signal is aborted, without a further step', async () => {
    const controller = new AbortController()
    const step = vi.fn(async () => tryAgain)
    const pause = async (): Promise<void> => controller.abort()
    const result = await retry(step, { delays: fixedDelay(1), signal: controller.signal, pause })
    expect(result).toEqual({ is: 'given_up', lastError: undefined })
    expect(step).toHaveBeenCalledOnce()
  })

  test('an abort ends the pause between two steps', async () => {
    const controller = new AbortController()
    const onError = (): void => void setImmediate(() => controller.abort())
    const result = await retry(failing(9), { delays: fixedDelay(2 ** 30), signal: controller.signal, onError })
    expect(result.is).toBe('given_up')
  })

  test('gives up before the next step once isStopped is true', async () => {
    let stopped = false
    const step = vi.fn(async () => tryAgain)
    const pause = async (): Promise<void> => {
      stopped = true
    }
    expect((await retry(step, { delays: fixedDelay(1), isStopped: () => stopped, pause })).is).toBe('given_up')
    expect(step).toHaveBeenCalledOnce()
  })
})

test('exponential delays double up to their maximum', () => {
  expect([...exponentialDelays({ firstMs: 1, mostMs: 5 }).take(5)]).toEqual([1, 2, 4, 5, 5])
})

test('a fixed delay ends when its time is over', () => {
  expect([...fixedDelay(10, 0)]).toEqual([])
  expect([...fixedDelay(10).take(3)]).toEqual([10, 10, 10])
})

test('a pause with an aborted signal resolves at once', async () => {
  await pauseFor(2 ** 30, AbortSignal.abort())
})
