import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { type DispatchScene, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

let scene: DispatchScene
beforeEach(async () => {
  scene = await startDispatchScene(inject('kafkaBrokers'))
})
afterEach(() => scene.remove())

const answeredWith = (status: number) => scene.ai.received().by_status[String(status)] ?? 0

describe('a dispatcher', () => {
  it('whose token is no longer valid fails at most 100 of 6,000 chunks, reports the reason, and delivers the others later', async () => {
    const chunks = 6_000
    scene.ai.setBehaviour({ otherwise: { status: 401 } })
    await scene.appendImports({ imports: chunks / 100, chunks: 100 })
    const dispatcher = await scene.dispatcher()
    const readiness = async () => (await fetch(`${dispatcher.url}/readyz`)).json()
    await eventually(async () =>
      expect(await readiness()).toMatchObject({
        status: 'healthy',
        checks: { ai_system: { status: 'unhealthy', message: expect.stringContaining('status 401') } },
      }),
    )
    const opened = answeredWith(401)
    await eventually(() => expect(answeredWith(401)).toBeGreaterThan(opened)) // a trial call
    expect(dispatcher.output()).toContain('the AI system refuses every call')

    scene.ai.setBehaviour({})
    const failed = () => answeredWith(401)
    await eventually(() => expect(scene.ai.received().chunks + failed()).toBe(chunks), { withinMs: 60_000 })
    expect(failed()).toBeLessThanOrEqual(100)
    expect(await readiness()).toMatchObject({ checks: { ai_system: { status: 'healthy' } } })
    const outcomes = await eventually(async () => {
      const events = await scene.deliveryEvents()
      expect(events).toHaveLength(chunks)
      return events
    })
    expect(outcomes.filter(({ type }) => type === 'ChunkFailed')).toHaveLength(failed())
  })

  it.each([200, 422])(
    'delivers 640 slow chunks with full concurrency after 150 fast answers with status %i',
    async (status) => {
      scene.ai.setBehaviour({ otherwise: { status } })
      await scene.appendImports({ imports: 3, chunks: 50, contactsPerChunk: 10 })
      await scene.dispatcher()
      await eventually(() => expect(answeredWith(status)).toBe(150))
      scene.ai.setBehaviour({ otherwise: { delay_ms: 1_000 } })
      await scene.appendImports({ imports: 10, chunks: 64, contactsPerChunk: 10 })
      await eventually(() => expect(answeredWith(200)).toBe(640 + (status === 200 ? 150 : 0)), { withinMs: 40_000 })
    },
  )
})
