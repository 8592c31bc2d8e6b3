import { describe, expect, inject, it } from 'vitest'
import { outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

const chunks = 60

describe.concurrent('a dispatcher killed', () => {
  it.each(['before the call', 'after the call', 'after the append'])(
    '%s: the next dispatcher sends all other chunks, and again only chunks without a logged outcome',
    async (point) => {
      const scene = await startDispatchScene(inject('kafkaBrokers'))
      try {
        scene.ai.setBehaviour({ otherwise: { delay_ms: 20 } })
        await scene.appendImports({ imports: 12, chunks: 5 })
        const variables = { FAIL_AT: point, DISPATCH_MAX_CONCURRENCY: '3' }
        const doomed = await scene.dispatcher(variables, 'test/support/system/fixtures/dispatcher.ts')
        expect(await doomed.exited).toBe(null)

        await scene.dispatcher()
        const unrecorded = scene.ai.received().requests - (await scene.deliveries())
        expect(unrecorded).toBeLessThan(chunks / 2)
        await scene.delivered(chunks)
        const { requests, repeats, by_status } = scene.ai.received()
        expect(repeats + (by_status.none ?? 0)).toBe(unrecorded) // responses not recorded, or after the kill
        expect(requests).toBe(chunks + unrecorded)
        const outcomes = [...outcomesOf(await scene.deliveryEvents()).values()]
        expect(outcomes).toHaveLength(chunks)
        expect(outcomes.every(([first, ...more]) => first?.type === 'ChunkSent' && more.length === 0)).toBe(true)
      } finally {
        await scene.remove()
      }
    },
  )
})
