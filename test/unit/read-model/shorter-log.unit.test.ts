import { describe, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { jobHistory } from '#test/support/builders/job-history.ts'
import { eventually } from '#test/support/eventually.ts'
import { createMemoryProjection } from '#test/support/system/memory-projection.ts'

const hour = 60 * 60_000

/** A projected log and, for each topic, the partition with the most records. */
async function projectedLog() {
  let time = 1_700_000_000_000
  const projection = createMemoryProjection({ now: () => time })
  const first = await projection.start()
  const { imports, deliveries } = jobHistory({ jobs: 30, seed: 40 })
  await projection.append([...imports, ...deliveries])
  await projection.expectProjected()
  const places = [topics.imports, topics.deliveries].map(({ name: topic }) => {
    const partitions = Array.from({ length: 12 }, (_, partition) => projection.eventLog.partition(topic, partition))
    return {
      topic,
      partition: partitions.findIndex(({ length }) => length === Math.max(...partitions.map((p) => p.length))),
    }
  })
  return { ...projection, first, places, pass: (ms: number) => (time += ms) }
}

/** New jobs at offsets that the log uses again. All of them must be in the read model as if the log were whole. */
async function expectNewJobs(
  { append, store }: Awaited<ReturnType<typeof projectedLog>>,
  alone: ReturnType<typeof jobHistory>,
): Promise<void> {
  const records: readonly EventRecord[] = [...alone.imports, ...alone.deliveries]
  const expected = createMemoryProjection()
  await expected.start()
  await expected.append(records)
  await expected.expectProjected()
  const jobIds = [...new Set(records.map(({ key }) => key))]
  const wanted = [...(await expected.store.load(jobIds)).values()].map(({ applied: _, ...document }) => document)
  await append(records)
  await eventually(
    async () => {
      const found = await store.load(jobIds)
      expect(wanted.map(({ _id }) => ({ ...found.get(_id), applied: 0 }))).toEqual(
        wanted.map((document) => ({ ...document, applied: 0 })),
      )
    },
    { everyMs: 5, withinMs: 5_000 },
  )
}

describe('after the log lost its last records, the projector applies records at offsets that the log uses again', () => {
  test.each([
    ['while it runs', async () => {}],
    ['while it was stopped', async (one: Awaited<ReturnType<typeof projectedLog>>) => one.first.stop()],
  ] as const)('%s', async (_, prepare) => {
    const one = await projectedLog()
    const jobs = [...(await one.store.load([...new Set(one.records().map(({ key }) => key ?? ''))])).values()]
    await prepare(one)
    for (const { topic, partition } of one.places) {
      one.eventLog.cut(topic, partition, Math.floor(one.eventLog.partition(topic, partition).length / 3))
    }
    one.pass(hour / 2)
    if (one.lines.includes('projector stopped')) await one.start()
    await expectNewJobs(one, jobHistory({ jobs: 60, seed: 41 }))
    const after = await one.store.load(jobs.map(({ _id }) => _id))
    expect(jobs.map(({ _id }) => ({ ...after.get(_id), applied: 0 }))).toEqual(
      jobs.map((document) => ({ ...document, applied: 0 })),
    )
    expect(one.lines.filter((line) => line.includes('the stored position does not match the log'))).toHaveLength(2)
  })

  test('also when the partition was replaced by one that starts at offset 0', async () => {
    const one = await projectedLog()
    for (const { topic, partition } of one.places) one.eventLog.cut(topic, partition, 0)
    one.pass(2 * hour)
    await expectNewJobs(one, jobHistory({ jobs: 60, seed: 42 }))
  })
})

test('a log that was truncated and refilled to the same offset is detected without new records', async () => {
  const one = await projectedLog()
  const [place] = one.places
  if (place === undefined) throw new Error('no partition')
  const [last] = one.eventLog.partition(place.topic, place.partition).slice(-1)
  if (last === undefined) throw new Error('no record')
  one.eventLog.cut(place.topic, place.partition, last.offset)
  one.pass(hour / 2)
  const { key, headers, value } = last
  await one.eventLog.append([{ ...place, key: key ?? '', headers, value: value ?? new Uint8Array() }])
  await eventually(
    async () => {
      await one.first.reopenIfLogChanged()
      expect(one.lines).toContain('the log no longer has the last record that was read; opening the partition again')
    },
    { everyMs: 5 },
  )
})
