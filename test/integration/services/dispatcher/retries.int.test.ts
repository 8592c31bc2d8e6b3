import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { type DispatchScene, outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'
import { type OwnDispatcher, startOwnDispatcher } from '#test/support/system/own-dispatcher.ts'

let scene: DispatchScene
let dispatcher: OwnDispatcher | null
beforeEach(async () => {
  scene = await startDispatchScene(inject('kafkaBrokers'))
})
afterEach(async () => {
  await dispatcher?.stop()
  dispatcher = null
  await scene.remove()
})

const start = async (variables: Readonly<Record<string, string>> = {}) => {
  dispatcher = await startOwnDispatcher({ ...scene.environment, ...variables })
  return dispatcher
}
const retries = async () =>
  (await scene.deliveryEvents()).flatMap((event) => (event.type === 'ChunkRetryScheduled' ? [event.data] : []))
const failures = async () =>
  (await scene.deliveryEvents()).flatMap((event) => (event.type === 'ChunkFailed' ? [event.data] : []))

describe('an AI system that', () => {
  it('fails three requests in ten receives each of 5,000 chunks with no unnecessary call', async () => {
    const chunks = 5_000
    scene.ai.setBehaviour({ rules: [{ rate: 0.3, behave: { status: 503 } }] })
    await scene.appendImports({ imports: 250, chunks: 20 })
    await start({ RETRY_SCHEDULE: Array.from({ length: 12 }, () => '200ms').join(',') })
    await eventually(() => expect(scene.ai.received().chunks).toBe(chunks), { withinMs: 90_000 })
    const { requests, repeats } = scene.ai.received()
    const expected = chunks / 0.7
    expect(Math.abs(requests - expected)).toBeLessThan(expected * 0.1)
    expect(repeats).toBe(0)
    const outcomes = await eventually(async () => {
      const found = outcomesOf(await scene.deliveryEvents())
      expect(found.size).toBe(chunks)
      return [...found.values()].flat()
    })
    expect(outcomes.every(({ type }) => type === 'ChunkSent')).toBe(true)
  })

  it('delays one chunk in twenty by an hour receives all others meanwhile, and the committed offset advances', async () => {
    const chunks = 6_000
    scene.ai.setBehaviour({
      rules: [{ match: { attempt: 1 }, rate: 0.05, behave: { status: 429, retry_after: 3_600 } }],
    })
    await scene.appendImports({ imports: chunks / 100, chunks: 100, partition: 0 })
    await start()
    const served = () => {
      const { requests, by_status } = scene.ai.received()
      expect(requests).toBe(chunks)
      return by_status['429'] ?? 0
    }
    const asked = await eventually(served, { withinMs: 90_000 })
    await eventually(async () => expect((await scene.committed()).get(0)).toBeGreaterThan(chunks / 2))
    expect(served()).toBe(asked)
    const replanned = (await scene.deliveryEvents()).filter(({ type }) => type === 'ChunkReplanned')
    expect(replanned.length).toBeGreaterThan(0)
    expect(replanned.every(({ data }) => 'attempts' in data && data.attempts === 1)).toBe(true)
    const waits = await retries()
    expect(waits).toHaveLength(asked)
    const inAnHour = Date.now() + 3_600_000
    for (const { attempt, next_attempt_at, delay_reason } of waits) {
      expect([attempt, delay_reason]).toEqual([1, 'retry_after'])
      expect(Math.abs(Date.parse(next_attempt_at) - inAnHour)).toBeLessThan(120_000)
    }
  })

  it('delays more chunks by an hour than the window holds: each chunk is planned again at most once', async () => {
    const chunks = 8_000
    scene.ai.setBehaviour({
      rules: [{ match: { attempt: 1 }, rate: 0.4, behave: { status: 429, retry_after: 3_600 } }],
    })
    await scene.appendImports({ imports: chunks / 100, chunks: 100, partition: 0 })
    await start()
    let planned = await scene.planned()
    await eventually(
      async () => {
        const before = planned
        planned = await scene.planned()
        expect(planned).toBeGreaterThan(chunks + 1_600)
        expect(planned).toBe(before)
      },
      { withinMs: 90_000, everyMs: 3_000 },
    )
    const replanned = (await scene.deliveryEvents()).filter(({ type }) => type === 'ChunkReplanned')
    const keys = replanned.map(({ data }) => `${data.job_id}/${data.chunk_index}`)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('is called as often as the schedule allows, also across restarts of the dispatcher', async () => {
    scene.ai.setBehaviour({ otherwise: { status: 503, retry_after: 1 } })
    const jobs = await scene.appendImports({ imports: 4, chunks: 1 })
    const schedule = { RETRY_SCHEDULE: '1s,1s,1s,1s' }
    for (let restart = 0; restart < 3; restart += 1) {
      const before = scene.ai.received().requests
      await start(schedule)
      await eventually(() => expect(scene.ai.received().requests).toBeGreaterThan(before))
      await dispatcher?.stop()
    }
    await start(schedule)
    await eventually(async () => expect(await failures()).toHaveLength(jobs.length))
    expect(scene.ai.received().requests).toBe(jobs.length * 5)
    expect((await failures()).every(({ attempt }) => attempt === 5)).toBe(true)
    const scheduled = await retries()
    for (const jobId of jobs) {
      expect(scheduled.filter(({ job_id }) => job_id === jobId).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
    }
  })

  it('fails every call gets no further call after 20 failures, and is called again when it recovers', async () => {
    const chunks = 2_000
    scene.ai.setBehaviour({ otherwise: { status: 500 } })
    await scene.appendImports({ imports: 20, chunks: 100 })
    const { lines } = await start({ DISPATCH_MAX_CONCURRENCY: '10' })
    await eventually(() => expect(scene.ai.received().requests).toBeGreaterThanOrEqual(20))
    await eventually(() => expect(lines.some(({ fields }) => fields.breaker === 'open')).toBe(true))
    expect(scene.ai.received().requests).toBeLessThanOrEqual(31)
    scene.ai.setBehaviour({})
    await scene.delivered(chunks)
  })
})

describe('an AI system at a refused address', () => {
  it('gets no call; its chunks are sent when the address is allowed', async () => {
    await scene.appendImports({ imports: 30, chunks: 1 })
    const { lines } = await start({ AI_SYSTEM_ALLOW_PRIVATE: 'false' })
    await eventually(() => expect(lines.some(({ fields }) => fields.breaker === 'open')).toBe(true))
    expect(scene.ai.received().requests).toBe(0)
    await dispatcher?.stop()
    expect(await failures()).toEqual([])
    expect(new Set((await retries()).map(({ error_code }) => error_code))).toEqual(new Set(['address_refused']))
    await start()
    await scene.delivered(30)
  })
})

describe('a small import', () => {
  it('posted just after a large one waits for a few chunks of it, not for all', async () => {
    const order: string[] = []
    dispatcher = await startOwnDispatcher({ ...scene.environment, DISPATCH_MAX_CONCURRENCY: '4' }, (ports) => ({
      ...ports,
      aiSystem: {
        deliver(chunk) {
          order.push(JSON.parse(Buffer.from(chunk.body).toString()).job_id)
          return ports.aiSystem.deliver(chunk)
        },
      },
    }))
    scene.ai.setBehaviour({ otherwise: { delay_ms: 50 } })
    await scene.appendImports({ imports: 1, chunks: 100, contactsPerChunk: 100 })
    await eventually(() => expect(order.length).toBeGreaterThan(3))
    const before = order.length
    const [small = ''] = await scene.appendImports({ imports: 1, chunks: 1, contactsPerChunk: 10 })
    await eventually(() => expect(order).toContain(small))
    // Running calls, calls that start while the record of the small import is read, and one round of the queue.
    expect(order.indexOf(small) - before).toBeLessThan(40)
    await scene.delivered(101)
  })
})
