import { describe, expect, test } from 'vitest'
import { type AttemptGate, createAttemptGate } from '#services/dispatcher/attempt-gate.ts'
import { createVirtualTime } from '#test/support/dispatcher/virtual-time.ts'

const setUp = (startConcurrency: number) => {
  const time = createVirtualTime(1_000_000)
  const changes: (number | null)[] = []
  const refusalChanged = (status: number | null) => void changes.push(status)
  const gate = createAttemptGate({ startConcurrency, maxConcurrency: 512, clock: time, refusalChanged })
  return { time, gate, traffic: createTraffic(gate, time), changes }
}

type Answer = { readonly status: number; readonly afterMs: number }

/** Keeps as many calls running as the gate allows. `answer` decides at the start of a call how it will end. */
function createTraffic(gate: AttemptGate, time: ReturnType<typeof createVirtualTime>) {
  const statuses: number[] = []
  let waiting = 0
  let answer = (_size: number): Answer => ({ status: 200, afterMs: 10 })
  let sizeOf = (_index: number): number => 100
  let started = 0
  const fill = (): void => {
    while (waiting > 0 && gate.canStart()) {
      const size = sizeOf(started)
      const call = gate.startCall(size)
      const { status, afterMs } = answer(size)
      waiting -= 1
      started += 1
      time.after(afterMs, () => {
        call.end({ is: 'answered', status, retryAfter: null, durationMs: afterMs })
        statuses.push(status)
        fill()
      })
    }
  }
  return {
    statuses,
    count: (wanted: number) => statuses.filter((status) => status === wanted).length,
    answers(next: typeof answer): void {
      answer = next
    },
    sizes(next: typeof sizeOf): void {
      sizeOf = next
    },
    add(chunks: number): void {
      waiting += chunks
      fill()
    },
    clear(): void {
      waiting = 0
    },
    /** The gate has no timer: the dispatcher asks again each second. */
    async run(ms: number): Promise<void> {
      for (let past = 0; past < ms; past += 1_000) {
        await time.advance(Math.min(1_000, ms - past))
        fill()
      }
    },
  }
}

describe('the limit of concurrent calls', () => {
  test.each([200, 422])('is fully used again within 10 s after 150 fast answers with status %i', async (status) => {
    const { gate, traffic } = setUp(64)
    traffic.answers(() => ({ status, afterMs: 2 }))
    traffic.add(150)
    await traffic.run(1_000)
    traffic.answers(() => ({ status: 200, afterMs: 1_000 }))
    traffic.add(10_000)
    await traffic.run(10_000)
    expect(gate.state().calls).toBeGreaterThanOrEqual(64)
  })

  test('is fully used again within 10 s after many fast answers, also when durations vary', async () => {
    const { gate, traffic } = setUp(64)
    traffic.answers(() => ({ status: 200, afterMs: 2 }))
    traffic.add(5_000)
    await traffic.run(2_000)
    traffic.answers((size) => ({ status: 200, afterMs: 700 + 6 * size }))
    traffic.sizes((index) => (index * 37) % 100)
    traffic.add(10_000)
    await traffic.run(10_000)
    expect(gate.state().calls).toBeGreaterThanOrEqual(64)
  })

  test('does not shrink when chunks of ten contacts are followed by chunks of 1,000', async () => {
    const { gate, traffic } = setUp(64)
    const limits = new Set<number>()
    traffic.answers((size) => ({ status: 200, afterMs: 100 + 2 * size }))
    for (const size of [10, 1_000, 10, 1_000]) {
      traffic.sizes(() => size)
      traffic.add(2_000)
      for (let second = 0; second < 80; second += 1) {
        await traffic.run(1_000)
        limits.add(gate.state().limit)
      }
    }
    expect(Math.min(...limits)).toBeGreaterThanOrEqual(64)
  })

  test('settles near the number of calls that the AI system processes at a time', async () => {
    const { gate, traffic, time } = setUp(64)
    traffic.answers(() => ({ status: 200, afterMs: 300 }))
    traffic.add(64)
    await traffic.run(1_000)
    const freeAt = Array.from({ length: 20 }, () => 0) // the other calls wait
    traffic.answers(() => {
      const next = freeAt.indexOf(Math.min(...freeAt))
      freeAt[next] = Math.max(time.now(), freeAt[next] ?? 0) + 300
      return { status: 200, afterMs: (freeAt[next] ?? 0) - time.now() }
    })
    traffic.add(100_000)
    await traffic.run(30_000)
    expect(gate.state().limit).toBeGreaterThanOrEqual(20)
    expect(gate.state().limit).toBeLessThanOrEqual(45)
  })
})

describe('an AI system that refuses every call', () => {
  const refusals = [301, 401, 403, 404, 405]

  test.each(refusals)(
    'with status %i after a pause fails at most 100 of 6,000 chunks in ten minutes',
    async (status) => {
      const { gate, traffic } = setUp(512)
      traffic.answers(() => ({ status: 200, afterMs: 100 }))
      traffic.add(1_000_000)
      await traffic.run(1_000)
      expect(gate.state().limit).toBe(512)
      traffic.clear()
      await traffic.run(60_000)
      traffic.answers(() => ({ status, afterMs: 2 }))
      traffic.add(6_000)
      await traffic.run(600_000)
      expect(traffic.count(status)).toBeLessThanOrEqual(100)
      expect(gate.state().refusedWith).toBe(status)
    },
  )

  test('while 512 calls are running fails at most 100 chunks in ten minutes', async () => {
    const { gate, traffic } = setUp(512)
    let calls = 0
    traffic.answers(() => ({ status: 200, afterMs: 400 + ((calls++ * 7_919) % 200) }))
    traffic.add(1_000_000)
    await traffic.run(2_000)
    expect(gate.state().calls).toBe(512)
    traffic.answers(() => ({ status: 401, afterMs: 20 }))
    await traffic.run(600_000)
    expect(traffic.count(401)).toBeLessThanOrEqual(100)
  })

  test('when the dispatcher starts fails at most 100 chunks in ten minutes', async () => {
    const { traffic } = setUp(512)
    traffic.answers(() => ({ status: 403, afterMs: 1_000 }))
    traffic.add(6_000)
    await traffic.run(600_000)
    expect(traffic.count(403)).toBeLessThanOrEqual(100)
  })

  test('is reported once, and once more when it accepts calls again', async () => {
    const { gate, traffic, changes } = setUp(64)
    traffic.answers(() => ({ status: 401, afterMs: 2 }))
    traffic.add(10_000)
    await traffic.run(300_000)
    expect(changes).toEqual([401])
    traffic.answers(() => ({ status: 200, afterMs: 2 }))
    await traffic.run(61_000)
    expect(changes).toEqual([401, null])
    expect(gate.state()).toMatchObject({ breaker: 'closed', refusedWith: null })
    await traffic.run(60_000)
    expect(traffic.count(200)).toBeGreaterThan(9_000)
  })
})

describe('an AI system that refuses one chunk in', () => {
  test.each([20, 1_000])('%i and accepts the others is called with full concurrency', async (every) => {
    const { gate, traffic } = setUp(64)
    let calls = 0
    traffic.answers(() => ({ status: calls++ % every === 0 ? 404 : 200, afterMs: 1_000 }))
    traffic.add(100_000)
    await traffic.run(60_000)
    expect(gate.state().breaker).toBe('closed')
    expect(traffic.statuses.length).toBeGreaterThan(60 * 64 * 0.95)
  })
})
