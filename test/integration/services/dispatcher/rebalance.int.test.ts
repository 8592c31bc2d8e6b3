import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { type DispatchScene, outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

/** Long, because each partition that moves from a running member waits 11 s for the calls of that member. */
const stormMs = 300_000

let scene: DispatchScene
beforeEach(async () => {
  scene = await startDispatchScene(inject('kafkaBrokers'))
})
afterEach(() => scene.remove())

const sentOnce = async (chunks: number) => {
  expect(scene.ai.received()).toMatchObject({ chunks, requests: chunks, repeats: 0, malformed: 0 })
  const outcomes = [...outcomesOf(await scene.deliveryEvents()).values()]
  expect(outcomes).toHaveLength(chunks)
  expect(outcomes.every(({ length }) => length === 1)).toBe(true)
}
const joined = (output: string): boolean => /"partitions":\[\d/.test(output)

describe('members that join and leave cleanly', () => {
  it(
    'every few seconds while 5,000 chunks are delivered: each is sent once',
    async () => {
      const chunks = 5_000
      scene.ai.setBehaviour({ otherwise: { delay_ms: 20 } })
      const variables = { DISPATCH_MAX_CONCURRENCY: '6' }
      await scene.appendImports({ imports: 250, chunks: 20 })
      const steady = await scene.dispatcher(variables)
      let visits = 0
      while (scene.ai.received().chunks < chunks) {
        const visitor = await scene.dispatcher(variables)
        await eventually(() => expect(joined(visitor.output())).toBe(true))
        const before = scene.ai.received().chunks
        await eventually(() =>
          expect(scene.ai.received().chunks).toBeGreaterThanOrEqual(Math.min(chunks, before + 400)),
        )
        expect(await visitor.stop()).toBe(0)
        visits += 1
      }
      await scene.delivered(chunks)
      expect(visits).toBeGreaterThanOrEqual(3)
      await sentOnce(chunks)
      expect(await steady.stop()).toBe(0)
    },
    stormMs,
  )

  it('during slow calls: the new member waits for their outcomes and sends no chunk again', async () => {
    scene.ai.setBehaviour({ otherwise: { delay_ms: 7_000 } })
    const first = await scene.dispatcher()
    await eventually(() => expect(joined(first.output())).toBe(true))
    await scene.appendImports({ imports: 60, chunks: 1 })
    await eventually(() => expect(scene.ai.received().requests).toBe(60))
    const second = await scene.dispatcher()
    await eventually(() => expect(joined(second.output())).toBe(true))
    expect(scene.ai.received().chunks).toBe(0)
    await scene.delivered(60)
    await eventually(async () => {
      const passed = [...(await scene.committed()).values()].reduce((sum, offset) => sum + Math.max(0, offset), 0)
      expect(passed).toBe(await scene.planned())
    })
    await sentOnce(60)
  })

  it('in a rolling restart under load: each chunk is sent once', async () => {
    const rounds = 20
    scene.ai.setBehaviour({ otherwise: { delay_ms: 100 } })
    const running = [await scene.dispatcher(), await scene.dispatcher()]
    const load = (async () => {
      for (let round = 0; round < rounds; round += 1) {
        const before = scene.ai.received().chunks
        await scene.appendImports({ imports: 12, chunks: 10 })
        await eventually(() => expect(scene.ai.received().chunks).toBeGreaterThanOrEqual(before + 30))
      }
    })()
    for (const old of running) {
      await eventually(() => expect(joined(old.output())).toBe(true))
      const stoppedAt = performance.now()
      expect(await old.stop()).toBe(0)
      expect(performance.now() - stoppedAt).toBeLessThan(25_000)
      const fresh = await scene.dispatcher()
      await eventually(() => expect(joined(fresh.output())).toBe(true))
    }
    await load
    await scene.delivered(rounds * 120)
    await sentOnce(rounds * 120)
  })
})

describe('a member that was suspended for longer than its session', () => {
  it('moves no offset backwards when it continues, and sends again at most the chunks of its running calls', async () => {
    scene.ai.setBehaviour({ otherwise: { delay_ms: 30 } })
    const late = await scene.dispatcher({ DISPATCH_MAX_CONCURRENCY: '4' })
    await scene.appendImports({ imports: 60, chunks: 20 })
    await eventually(() => expect(scene.ai.received().chunks).toBeGreaterThan(100))
    late.kill('SIGSTOP')
    const highest = new Map<number, number>()
    const watch = async () => {
      for (const [partition, offset] of await scene.committed()) {
        expect(offset).toBeGreaterThanOrEqual(highest.get(partition) ?? -1)
        highest.set(partition, offset)
      }
    }
    const other = await scene.dispatcher()
    const unrecorded = scene.ai.received().requests - (await scene.deliveries())
    await eventually(async () => {
      await watch()
      expect(joined(other.output())).toBe(true)
    })
    late.kill('SIGCONT')
    await eventually(
      async () => {
        await watch()
        expect(scene.ai.received().chunks).toBe(1_200)
      },
      { withinMs: 60_000 },
    )
    await scene.delivered(1_200)
    await watch()
    expect(scene.ai.received().repeats).toBeLessThanOrEqual(unrecorded)
    expect(await other.stop()).toBe(0)
    expect(await late.stop()).toBe(0)
    await watch()
  })
})
