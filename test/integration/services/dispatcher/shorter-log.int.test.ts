import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { applyTopics } from '#shared/adapters/kafka/admin/topics.ts'
import { type OwnServer, startOwnKafka } from '#test/support/backing/own-services.ts'
import { eventually } from '#test/support/eventually.ts'
import { cutLog } from '#test/support/kafka/cut-log.ts'
import { type DispatchScene, outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'
import type { ServiceProcess } from '#test/support/system/service-process.ts'

/** Each import is one record batch of five records. The six imports before the cut have the offsets 0 to 29. */
const before = { imports: 6, chunks: 4, partition: 3 }
const cutFrom = 20
const after = { imports: 5, chunks: 4, partition: 3 }
const [chunksBefore, chunksAfter, recordsBefore] = [24, 20, 30]
const message = 'the committed position does not match the log'

type Kafka = Awaited<ReturnType<typeof startOwnKafka>>
let kafka: Kafka
const scenes: DispatchScene[] = []

async function deliveredScene(): Promise<{ readonly scene: DispatchScene; readonly dispatcher: ServiceProcess }> {
  const scene = await startDispatchScene(kafka.brokers)
  scenes.push(scene)
  for (let n = 0; n < before.imports; n += 1) await scene.appendImports({ ...before, imports: 1 })
  const dispatcher = await scene.dispatcher()
  await scene.delivered(chunksBefore)
  await eventually(async () => expect((await scene.committed()).get(before.partition)).toBe(recordsBefore))
  return { scene, dispatcher }
}

async function killBroker(server: OwnServer): Promise<void> {
  const pid = server.pid()
  server.kill()
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow())
}

beforeAll(async () => {
  kafka = await startOwnKafka()
})
afterAll(async () => {
  await Promise.all(scenes.map((scene) => scene.remove()))
  await kafka?.stop()
})

describe('after a power cut that removed the last records of a partition, every later chunk is delivered once', () => {
  let [running, waiting, late, lossy]: (Awaited<ReturnType<typeof deliveredScene>> | undefined)[] = []
  const cut = (scene: DispatchScene, topic: TopicName, from: number) =>
    cutLog(kafka.logPath, { topic: scene.topics.nameOf(topic), partition: before.partition }, from)

  beforeAll(async () => {
    const prepared = await Promise.all([deliveredScene(), deliveredScene(), deliveredScene(), deliveredScene()])
    ;[running, waiting, late, lossy] = prepared
    await Promise.all([waiting, late, lossy].map((one) => one?.dispatcher.stop()))
    await killBroker(kafka)
    for (const { scene } of prepared) expect(cut(scene, topics.imports.name, cutFrom)).toBe(cutFrom)
    if (lossy !== undefined) cut(lossy.scene, topics.deliveries.name, chunksBefore - 1)
    await kafka.restart()
  })

  async function expectDelivered({ scene }: { scene: DispatchScene }, dispatcher: ServiceProcess): Promise<void> {
    await scene.delivered(chunksBefore + chunksAfter)
    expect(scene.ai.received().repeats).toBe(0)
    const outcomes = outcomesOf(await scene.deliveryEvents())
    expect([...outcomes.values()].map(({ length }) => length)).toEqual(Array(chunksBefore + chunksAfter).fill(1))
    await eventually(async () => expect((await scene.committed()).get(before.partition)).toBe(cutFrom + 25))
    expect(dispatcher.output()).toContain(message)
  }

  it('by a dispatcher that started before the new imports', async () => {
    if (waiting === undefined) throw new Error('no scene')
    const dispatcher = await waiting.scene.dispatcher()
    await eventually(() => expect(dispatcher.output()).toContain('partitions assigned'))
    await waiting.scene.appendImports(after)
    await expectDelivered(waiting, dispatcher)
  })

  it('by a dispatcher that started after new records had passed the committed position', async () => {
    if (late === undefined) throw new Error('no scene')
    await late.scene.appendImports(after)
    await expectDelivered(late, await late.scene.dispatcher())
  })

  it('and chunks whose outcomes were also lost get an outcome again', async () => {
    if (lossy === undefined) throw new Error('no scene')
    const { scene } = lossy
    const kept = outcomesOf(await scene.deliveryEvents()).size
    expect(kept).toBeLessThan(chunksBefore)
    const dispatcher = await scene.dispatcher()
    await scene.appendImports(after)
    // The AI system received the chunks of the lost imports too. Every chunk in the log has an outcome.
    await eventually(async () => {
      const outcomes = outcomesOf(await scene.deliveryEvents())
      expect(scene.ai.received().chunks).toBe(chunksBefore + chunksAfter)
      expect(outcomes.size).toBeGreaterThanOrEqual(16 + chunksAfter)
      expect([...outcomes.values()].every(({ length }) => length === 1)).toBe(true)
    })
    expect(scene.ai.received().repeats).toBeLessThanOrEqual(chunksBefore - kept)
    expect(dispatcher.output()).toContain(message)
  })

  it('by a dispatcher that ran during the power cut', async () => {
    if (running === undefined) throw new Error('no scene')
    await running.scene.appendImports(after)
    await expectDelivered(running, running.dispatcher)
  })
})

it('a dispatcher that runs while the topic is created again delivers every chunk of the new topic', async () => {
  const { scene } = await deliveredScene()
  const admin = scene.kafka.admin()
  await admin.connect()
  await admin.deleteTopics({ topics: [scene.topics.nameOf(topics.imports.name)] })
  await eventually(() => applyTopics(scene.kafka, { topicPrefix: scene.topics.topicPrefix }))
  await admin.disconnect()
  await scene.appendImports(after)
  await scene.delivered(chunksBefore + chunksAfter)
  expect(scene.ai.received().repeats).toBe(0)
})
