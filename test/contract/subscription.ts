import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { partitionCount, type TopicName } from '#schemas/events/catalogue.ts'
import type { EventAppender, LogRecord } from '#shared/ports/event-log.ts'
import type { RecordMark, Subscription, SubscriptionHandlers, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log, LogFields } from '#shared/runtime/log.ts'
import { countEventLoopIterations } from '../support/event-loop-iterations.ts'
import { eventually } from '../support/eventually.ts'
import { silentLog } from '../support/silent-log.ts'

export type GroupUnderTest = {
  readonly appender: EventAppender
  member(log: Log): Subscription
  stop(): Promise<void>
}

const imports: TopicName = 'contact-import.imports'
const deliveries: TopicName = 'contact-import.deliveries'
const place = (partition: number, topic: TopicName = imports): TopicPartition => ({ topic, partition })

/** Records the calls of a member's handlers. With `opens`, the member reads each assigned partition from the start. */
function observe(subscription: Subscription, { opens }: { opens: boolean }) {
  const seen = {
    subscription,
    owned: [] as readonly TopicPartition[],
    story: [] as string[],
    records: [] as LogRecord[],
    kept: [] as boolean[],
    onRecords: (_: readonly LogRecord[]): void | Promise<void> => {},
    partitions: (topic: TopicName) => seen.owned.filter((one) => one.topic === topic).map(({ partition }) => partition),
  }
  const handlers: SubscriptionHandlers = {
    assigned(partitions, memberKept) {
      seen.owned = partitions
      seen.kept.push(memberKept)
      seen.story.push('assigned')
      if (opens) for (const one of partitions) subscription.open({ ...one, offset: 0 })
    },
    rebalancing() {
      seen.story.push('rebalancing')
    },
    async records(records) {
      await seen.onRecords(records)
      seen.records.push(...records)
    },
  }
  return { seen, start: () => subscription.start(handlers) }
}

export function subscriptionContract({ create }: { create: () => Promise<GroupUnderTest> }): void {
  let group: GroupUnderTest
  let errors: LogFields[]
  const log: Log = { ...silentLog, error: (fields) => void errors.push(fields) }
  beforeEach(async () => {
    errors = []
    group = await create()
  })
  afterEach(() => group.stop())

  const append = async (count: number, partition: number, topic: TopicName = imports) => {
    const records = Array.from({ length: count }, () => ({
      topic,
      partition,
      key: 'k',
      headers: {},
      value: Buffer.from('{}'),
    }))
    expect(await group.appender.append(records)).toMatchObject({ is: 'appended' })
  }

  const join = async (options: { opens: boolean }) => {
    const { seen, start } = observe(group.member(log), options)
    await start()
    await eventually(() => expect(seen.story).toContain('assigned'))
    return seen
  }

  describe('membership', () => {
    it('a lone member owns every partition of every topic', async () => {
      const alone = await join({ opens: false })
      const all = Array.from({ length: partitionCount }, (_, partition) => partition)
      expect(alone.partitions(imports).sort((a, b) => a - b)).toEqual(all)
      expect(alone.partitions(deliveries).sort((a, b) => a - b)).toEqual(all)
      expect(alone.kept).toEqual([false])
    })

    it('isCurrentMember is true from the first assignment until stop', async () => {
      const { seen, start } = observe(group.member(log), { opens: false })
      expect(seen.subscription.isCurrentMember()).toBe(false)
      await start()
      await eventually(() => expect(seen.story).toContain('assigned'))
      expect(seen.subscription.isCurrentMember()).toBe(true)
      await seen.subscription.stop()
      expect(seen.subscription.isCurrentMember()).toBe(false)
    })

    it('a second member gets half of the partitions, the same of both topics, after rebalancing is called', async () => {
      const first = await join({ opens: true })
      const second = await join({ opens: true })
      await eventually(() => expect(first.partitions(imports)).toHaveLength(partitionCount / 2))
      expect(first.story).toEqual(['assigned', 'rebalancing', 'assigned'])
      expect(first.kept).toEqual([false, true])
      for (const member of [first, second])
        expect(member.partitions(deliveries).sort()).toEqual(member.partitions(imports).sort())
      expect(second.partitions(imports).filter((partition) => first.partitions(imports).includes(partition))).toEqual(
        [],
      )

      for (let partition = 0; partition < partitionCount; partition += 1) await append(1, partition)
      await eventually(() => expect(first.records.length + second.records.length).toBe(partitionCount))
      expect(first.records.every(({ partition }) => first.partitions(imports).includes(partition))).toBe(true)
    })

    it('only the partitions that a new member gets change their owner', async () => {
      const members = [await join({ opens: false }), await join({ opens: false })]
      await eventually(() => expect(members.map((one) => one.partitions(imports).length)).toEqual([6, 6]))
      const before = members.map((one) => one.partitions(imports))
      const newcomer = await join({ opens: false })
      await eventually(() => expect(members.map((one) => one.partitions(imports).length)).toEqual([4, 4]))
      expect(newcomer.partitions(imports)).toHaveLength(4)
      for (const [n, member] of members.entries())
        expect(before[n]).toEqual(expect.arrayContaining(member.partitions(imports)))
    })

    it('the partitions of a stopped member go to the others', async () => {
      const first = await join({ opens: false })
      const second = await join({ opens: false })
      await eventually(() => expect(first.partitions(imports)).toHaveLength(partitionCount / 2))
      await first.subscription.stop()
      await eventually(() => expect(second.partitions(imports)).toHaveLength(partitionCount))
      await expect(first.subscription.commit([{ ...place(0), offset: 1 }])).rejects.toThrow()
      await first.subscription.stop()
    })
  })

  describe('reading', () => {
    it('an opened partition is read from the given offset, others are not read', async () => {
      await append(5, 1)
      await append(5, 2)
      const member = await join({ opens: false })
      member.subscription.open({ ...place(2), offset: 3 })
      await eventually(() => expect(member.records).toHaveLength(2))
      expect(member.records.map(({ partition, offset }) => [partition, offset])).toEqual([
        [2, 3],
        [2, 4],
      ])
    })

    it('an open partition delivers later records, and can be opened again at an earlier offset', async () => {
      const member = await join({ opens: false })
      member.subscription.open({ ...place(2), offset: 0 })
      await append(1, 2)
      await eventually(() => expect(member.records).toHaveLength(1))
      await append(2, 2)
      await eventually(() => expect(member.records.map(({ offset }) => offset)).toEqual([0, 1, 2]))
      member.subscription.open({ ...place(2), offset: 1 })
      await eventually(() => expect(member.records.map(({ offset }) => offset)).toEqual([0, 1, 2, 1, 2]))
    })

    it('reading continues after a pause without a gap or a repeat', async () => {
      const member = await join({ opens: true })
      await append(1, 3)
      await eventually(() => expect(member.records).toHaveLength(1))
      member.subscription.pause(place(3))
      await append(3, 3)
      // A record of another partition proves that fetching continued during the pause.
      await append(1, 4)
      await eventually(() => expect(member.records.some(({ partition }) => partition === 4)).toBe(true))
      expect(member.records.filter(({ partition }) => partition === 3)).toHaveLength(1)
      member.subscription.resume(place(3))
      await eventually(() =>
        expect(member.records.filter(({ partition }) => partition === 3).map(({ offset }) => offset)).toEqual([
          0, 1, 2, 3,
        ]),
      )
    })

    it('no records of a paused partition are delivered, even if they were already fetched', async () => {
      for (let partition = 0; partition < partitionCount; partition += 1) await append(1, partition)
      const member = await join({ opens: false })
      const owned = member.owned.filter(({ topic }) => topic === imports)
      member.onRecords = ([first]) => {
        for (const one of owned) if (one.partition !== first?.partition) member.subscription.pause(one)
      }
      for (const one of owned) member.subscription.open({ ...one, offset: 0 })
      const [first] = await eventually(() => {
        expect(member.records).toHaveLength(1)
        return member.records
      })
      await append(1, first?.partition ?? 0)
      await eventually(() => expect(member.records).toHaveLength(2))
      expect(new Set(member.records.map(({ partition }) => partition))).toEqual(new Set([first?.partition]))
    })

    it('records of two partitions are delivered in different iterations of the event loop', async () => {
      for (let partition = 0; partition < partitionCount; partition += 1) await append(1, partition)
      const member = await join({ opens: false })
      const iterations: number[] = []
      const iteration = countEventLoopIterations()
      member.onRecords = () => {
        iterations.push(iteration())
      }
      for (const one of member.owned) member.subscription.open({ ...one, offset: 0 })
      await eventually(() => expect(iterations).toHaveLength(partitionCount))
      expect(new Set(iterations).size).toBe(partitionCount)
    })

    it('records whose handler fails are delivered again, and each failure is logged', async () => {
      const member = await join({ opens: true })
      let failures = 0
      member.onRecords = () => {
        failures += 1
        if (failures <= 2) throw new Error('not now')
      }
      await append(2, 5)
      await eventually(() => expect(member.records.map(({ offset }) => offset)).toEqual([0, 1]))
      expect(failures).toBe(3)
      expect(errors).toHaveLength(2)
      expect(errors[0]).toMatchObject({ ...place(5), offset: 0, err: { message: 'not now' } })
    })
  })

  describe('offsets', () => {
    it('committed offsets are returned with their metadata', async () => {
      const member = await join({ opens: false })
      expect(await member.subscription.committed([place(6), place(7)])).toEqual([])
      await member.subscription.commit([
        { ...place(6), offset: 12, metadata: 'drained' },
        { ...place(6, deliveries), offset: 3 },
      ])
      expect(await member.subscription.committed([place(6), place(7)])).toEqual([
        { ...place(6), offset: 12, metadata: 'drained' },
      ])
      expect(await member.subscription.committed([place(6, deliveries)])).toEqual([
        { ...place(6, deliveries), offset: 3, metadata: '' },
      ])
    })

    it('ranges returns the first offset and the end of each partition', async () => {
      const member = await join({ opens: false })
      await append(3, 6)
      expect(await member.subscription.ranges([place(6), place(2, deliveries)])).toEqual([
        { ...place(6), start: 0, end: 3 },
        { ...place(2, deliveries), start: 0, end: 0 },
      ])
    })

    it('offsetSince returns the first record appended at or after a time, or the end', async () => {
      const member = await join({ opens: true })
      await append(2, 6)
      await eventually(() => expect(member.records).toHaveLength(2))
      const [first] = member.records
      if (first === undefined) throw new Error('no record')
      const since = (time: number) => member.subscription.offsetSince(place(6), time)
      expect(await Promise.all([0, first.appendedAt, first.appendedAt + 60_000].map(since))).toEqual([0, 0, 2])
    })

    it('holds is true for a record of the log, and false for another offset or append time', async () => {
      const member = await join({ opens: true })
      await append(2, 6)
      await eventually(() => expect(member.records).toHaveLength(2))
      const last = member.records[1]
      if (last === undefined) throw new Error('no record')
      const { offset, appendedAt } = last
      const holds = (mark: RecordMark) => member.subscription.holds(place(6), mark)
      expect(await holds({ offset, appendedAt })).toBe(true)
      expect(await holds({ offset: offset + 1, appendedAt })).toBe(false)
      expect(await holds({ offset, appendedAt: appendedAt - 60_000 })).toBe(false)
      expect(await holds({ offset, appendedAt: appendedAt + 60_000 })).toBe(false)
    })

    it('a commit for a partition of another member is refused', async () => {
      const first = await join({ opens: false })
      const second = await join({ opens: false })
      await eventually(() => expect(first.partitions(imports)).toHaveLength(partitionCount / 2))
      const [lost] = second.partitions(imports)
      if (lost === undefined) throw new Error('The second member owns nothing.')
      await expect(first.subscription.commit([{ ...place(lost), offset: 1 }])).rejects.toThrow()
      expect(await first.subscription.committed([place(lost)])).toEqual([])
      await second.subscription.commit([{ ...place(lost), offset: 1 }])
      expect(await first.subscription.committed([place(lost)])).toMatchObject([{ offset: 1 }])
    })
  })
}
