import { expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { plannedImport } from '#test/support/builders/planned-imports.ts'
import { eventually } from '#test/support/eventually.ts'
import { readTopic } from '#test/support/kafka/read-topic.ts'
import { outcomesOf, startDispatchScene } from '#test/support/system/dispatch-scene.ts'

const chunks = 20

it('after a kill between a dead letter and the failure of its chunk the next dispatcher appends both', async () => {
  const scene = await startDispatchScene(inject('kafkaBrokers'))
  const letters = () => readTopic(scene.kafka, scene.topics.nameOf(topics.deadLetters.name))
  try {
    const { records } = plannedImport({ chunks, contactsPerChunk: 1 })
    const damaged = records.filter(({ headers }) => headers.ce_type === 'ChunkPlanned')
    const producer = scene.kafka.producer()
    await producer.connect()
    await producer.send({
      topic: scene.topics.nameOf(topics.imports.name),
      messages: damaged.map(({ key, headers, value }) => ({
        ...{ key, value: Buffer.from(value), partition: 3 },
        headers: { ...headers, ce_time: 'yesterday' },
      })),
    })
    await producer.disconnect()
    const doomed = await scene.dispatcher(
      { FAIL_AT: 'after the dead letter' },
      'test/support/system/fixtures/dispatcher.ts',
    )
    expect(await doomed.exited).toBe(null)
    expect((await letters()).length).toBeGreaterThan(0)
    expect(outcomesOf(await scene.deliveryEvents()).size).toBeLessThan(chunks)

    await scene.dispatcher()
    await eventually(async () => expect((await scene.committed()).get(3)).toBe(chunks), { withinMs: 60_000 })
    const outcomes = [...outcomesOf(await scene.deliveryEvents()).values()]
    expect(outcomes).toHaveLength(chunks)
    for (const [first] of outcomes) expect(first).toMatchObject({ type: 'ChunkFailed', data: { attempt: 0 } })
    const ids = (await letters()).map(({ headers }) => headers.dl_id)
    expect(new Set(ids).size).toBe(chunks)
    expect(ids.length).toBeGreaterThan(chunks)
    expect(scene.ai.received().requests).toBe(0)
  } finally {
    await scene.remove()
  }
})
