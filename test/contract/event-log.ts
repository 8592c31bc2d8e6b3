import { randomBytes, randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { partitionCount, type TopicName } from '#schemas/events/catalogue.ts'
import type { EventAppender, EventReader, LogRecord, NewRecord } from '#shared/ports/event-log.ts'
import { eventually } from '../support/eventually.ts'

export type EventLogUnderTest = EventAppender & EventReader & { stop(): Promise<void> }

const imports: TopicName = 'contact-import.imports'
const deliveries: TopicName = 'contact-import.deliveries'

function record(given: Partial<NewRecord> = {}): NewRecord {
  const key = given.key ?? randomUUID()
  return { topic: imports, key, headers: { ce_id: `${key}/accepted` }, value: Buffer.from('{}'), ...given }
}

async function collect(records: AsyncIterable<LogRecord>): Promise<LogRecord[]> {
  return Array.fromAsync(records)
}

export function eventLogContract({ create }: { create: () => Promise<EventLogUnderTest> }): void {
  let log: EventLogUnderTest
  beforeEach(async () => {
    log = await create()
  })
  afterEach(() => log.stop())

  describe('append', () => {
    it('stores key, headers and value bytes unchanged', async () => {
      const given = record({ headers: { ce_id: 'ü', 'content-type': 'application/json' }, value: randomBytes(1000) })
      expect(await log.append([given])).toMatchObject({ is: 'appended' })
      const [found] = await collect(log.read(imports, log.partitionFor(given.key), 0))
      expect(found).toMatchObject({ topic: imports, key: given.key, headers: given.headers, offset: 0 })
      expect(Buffer.from(found?.value ?? [])).toEqual(Buffer.from(given.value))
    })

    it('returns the offset and append time of the last record', async () => {
      const appends = [1, 3, 2].map((count) =>
        log.append(Array.from({ length: count }, () => record({ partition: 4 }))),
      )
      const outcomes = await Promise.all(appends)
      const found = await collect(log.read(imports, 4, 0))
      const marks = found.map(({ offset, appendedAt }) => ({ offset, appendedAt }))
      expect(outcomes).toEqual([0, 3, 5].map((index) => ({ is: 'appended', last: marks[index] })))
    })

    it('stores the records of one append contiguously and in order', async () => {
      const keys = Array.from({ length: 20 }, () => randomUUID())
      await Promise.all(
        keys.map((key) =>
          log.append(Array.from({ length: 5 }, (_, n) => record({ key, partition: 4, headers: { n: String(n) } }))),
        ),
      )
      const found = await collect(log.read(imports, 4, 0))
      expect(found.map(({ offset }) => offset)).toEqual(Array.from({ length: 100 }, (_, offset) => offset))
      for (const key of keys) {
        const own = found.filter((one) => one.key === key)
        expect(own.map(({ headers }) => headers.n)).toEqual(['0', '1', '2', '3', '4'])
        expect((own.at(-1)?.offset ?? 0) - (own[0]?.offset ?? 0)).toBe(4)
      }
    })

    it('uses the same partition of every topic for a key, unless the record names one', async () => {
      const key = randomUUID()
      const partition = log.partitionFor(key)
      const other = (partition + 1) % partitionCount
      await log.append([record({ key })])
      await log.append([record({ key, topic: deliveries })])
      await log.append([record({ key, topic: deliveries, partition: other })])
      expect(await collect(log.read(imports, partition, 0))).toHaveLength(1)
      expect(await collect(log.read(deliveries, partition, 0))).toHaveLength(1)
      expect(await collect(log.read(deliveries, other, 0))).toHaveLength(1)
    })

    it('refuses an append above the size limit of the topic and stores none of it', async () => {
      const small = record({ partition: 2 })
      const large = record({ partition: 2, value: randomBytes(10 * 1024 * 1024 + 1) })
      expect(await log.append([small, large])).toEqual({ is: 'refused', reason: 'too_large' })
      expect(await log.append([small])).toMatchObject({ is: 'appended' })
      expect(await collect(log.read(imports, 2, 0))).toHaveLength(1)
    })

    it('accepts an urgent append', async () => {
      expect(await log.append([record({ partition: 1 })], { urgent: true })).toMatchObject({ is: 'appended' })
      expect(await collect(log.read(imports, 1, 0))).toHaveLength(1)
    })

    it('accepts an append without records', async () => {
      expect(await log.append([])).toMatchObject({ is: 'appended' })
    })

    it('rejects an append to two partitions', async () => {
      await expect(log.append([record({ partition: 1 }), record({ partition: 2 })])).rejects.toThrow(TypeError)
    })
  })

  describe('read', () => {
    it('yields nothing from an empty partition', async () => {
      expect(await collect(log.read(imports, 7, 0))).toEqual([])
    })

    it('starts at the first record appended at or after the given time', async () => {
      await log.append([record({ partition: 3, key: 'before' })])
      const [before] = await collect(log.read(imports, 3, 0))
      const since = (before?.appendedAt ?? 0) + 1
      // Append until the log's clock advances, so that earlier records are not part of the read.
      const all = await eventually(async () => {
        await log.append([record({ partition: 3 })])
        const appended = await collect(log.read(imports, 3, 0))
        expect(appended.at(-1)?.appendedAt).toBeGreaterThanOrEqual(since)
        return appended
      })
      await log.append([record({ partition: 3, key: 'last' })])
      const first = all.findIndex(({ appendedAt }) => appendedAt >= since)
      const keys = [...all.map(({ key }) => key), 'last']
      expect((await collect(log.read(imports, 3, since))).map(({ key }) => key)).toEqual(keys.slice(first))
      expect((await collect(log.read(imports, 3, since - 1))).map(({ key }) => key)).toEqual(keys)
      expect(await collect(log.read(imports, 3, Date.now() + 60_000))).toEqual([])
    })

    it('includes every record acknowledged before the read', async () => {
      for (let count = 1; count <= 20; count += 1) {
        await log.append([record({ partition: 5 })])
        expect(await collect(log.read(imports, 5, 0))).toHaveLength(count)
      }
    })

    it('ends at the end of the partition at the start of the read', async () => {
      await log.append([record({ partition: 6 }), record({ partition: 6 })])
      const seen: LogRecord[] = []
      for await (const one of log.read(imports, 6, 0)) {
        seen.push(one)
        await log.append([record({ partition: 6 })])
      }
      expect(seen).toHaveLength(2)
    })

    it('concurrent reads each return all records', async () => {
      await log.append(Array.from({ length: 50 }, () => record({ partition: 8 })))
      await log.append(Array.from({ length: 30 }, () => record({ partition: 9 })))
      const reads = await Promise.all([8, 9, 8, 9].map((partition) => collect(log.read(imports, partition, 0))))
      expect(reads.map(({ length }) => length)).toEqual([50, 30, 50, 30])
    })

    it('a read can be ended early and repeated', async () => {
      await log.append(Array.from({ length: 10 }, () => record({ partition: 10 })))
      for await (const { offset } of log.read(imports, 10, 0)) if (offset === 3) break
      expect(await collect(log.read(imports, 10, 0))).toHaveLength(10)
    })
  })
}
