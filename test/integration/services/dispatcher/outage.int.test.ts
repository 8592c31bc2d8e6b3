import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OwnServer, startOwnKafka } from '#test/support/backing/own-services.ts'
import { eventually } from '#test/support/eventually.ts'
import { type DispatchScene, outcomesOf, residentMiB, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

/** The outage lasts until each text is logged: appends, commits and requests have then failed. */
const whileDown = ['appending it again', 'commit refused', 'connect ECONNREFUSED']
const whileHanging = ['appending it again', 'timed out']

let kafka: OwnServer & { readonly brokers: string[] }
let scene: DispatchScene
beforeAll(async () => {
  kafka = await startOwnKafka()
  scene = await startDispatchScene(kafka.brokers)
})
afterAll(async () => {
  await scene?.remove()
  await kafka?.stop()
})

describe('a dispatcher continues without a restart and with bounded memory after a broker', () => {
  it.each([
    ['is down', async () => kafka.kill(), () => kafka.restart(), whileDown],
    ['hangs', () => kafka.pause(), async () => kafka.resume(), whileHanging],
  ] as const)('%s', async (_, hurt, heal, lines) => {
    const [imports, chunks] = [40, 50]
    scene.ai.setBehaviour({ otherwise: { delay_ms: 20 } })
    const dispatcher = await scene.dispatcher({ DISPATCH_MAX_CONCURRENCY: '8' })
    const before = scene.ai.received()
    await scene.appendImports({ imports, chunks, contactsPerChunk: 100 })
    await eventually(() => expect(scene.ai.received().chunks).toBeGreaterThan(before.chunks + 200))
    const outputBefore = dispatcher.output().length
    await hurt()
    await eventually(
      () => {
        const output = dispatcher.output().slice(outputBefore)
        for (const text of lines) expect(output).toContain(text)
      },
      { withinMs: 60_000, everyMs: 250 },
    )
    const during = scene.ai.received().requests
    await heal()
    await scene.delivered(before.chunks + imports * chunks, 90_000)
    expect(during - before.requests).toBeLessThan(imports * chunks)
    expect(scene.ai.received().repeats - before.repeats).toBeLessThanOrEqual(8 + 256)
    const outcomes = [...outcomesOf(await scene.deliveryEvents()).values()]
    expect(outcomes).toHaveLength(before.chunks + imports * chunks)
    expect(outcomes.every(([first]) => first?.type === 'ChunkSent')).toBe(true)
    expect(residentMiB(dispatcher.pid)).toBeLessThan(280)
    expect(await dispatcher.stop()).toBe(0)
  })
})
