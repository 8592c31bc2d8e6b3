import { partitionCount, type TopicName, topics } from '#schemas/events/catalogue.ts'
import { createPartitionFor } from '#shared/adapters/kafka/produce/partition-for.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type {
  AppendOutcome,
  EventAppender,
  EventReader,
  LogRecord,
  NewRecord,
  RecordMark,
} from '#shared/ports/event-log.ts'
import { logRecord } from '../support/builders/log-record.ts'

/** The outcome of the next append. If `stored`, the log stores the records although the outcome is an error. */
export type AppendFault = { readonly outcome: AppendOutcome; readonly stored: boolean }

export type MemoryEventLog = EventAppender &
  EventReader & {
    records(topic: TopicName): readonly LogRecord[]
    partition(topic: TopicName, partition: number): readonly LogRecord[]
    /** Removes the records at and above the offset and changes the leader epoch. The next record gets this offset. */
    cut(topic: TopicName, partition: number, offset: number): void
    /** Returns a function that removes the listener. */
    onAppend(listener: () => void): () => void
    failNextAppend(fault: AppendFault): void
  }

/** Passes the same contract suite as the Kafka adapter. */
export function createMemoryEventLog({ now = Date.now }: { readonly now?: () => Instant } = {}): MemoryEventLog {
  const partitionFor = createPartitionFor()
  const listeners = new Set<() => void>()
  const faults: AppendFault[] = []
  const log = createStoredLog(now)

  async function append(records: readonly NewRecord[]): Promise<AppendOutcome> {
    const [first] = records
    if (first === undefined) return { is: 'appended' }
    const placeOf = (record: NewRecord) => record.partition ?? partitionFor(record.key)
    const partition = placeOf(first)
    if (records.some((record) => record.topic !== first.topic || placeOf(record) !== partition))
      throw new TypeError('All records of one append must be of one topic and of one partition.')
    const fault = faults.shift()
    if (fault === undefined && exceedsTopic(first.topic, records)) return { is: 'refused', reason: 'too_large' }
    if (fault === undefined || fault.stored) {
      const last = log.store(first.topic, partition, records)
      for (const listener of listeners) listener()
      if (fault === undefined) return { is: 'appended', last }
    }
    return fault.outcome
  }

  async function* read(topic: TopicName, partition: number, since: Instant): AsyncGenerator<LogRecord> {
    const records = log.partition(topic, partition)
    const first = records.findIndex(({ appendedAt }) => appendedAt >= since)
    if (first >= 0) yield* records.slice(first)
  }

  return {
    partitionFor,
    append,
    read,
    partition: log.partition,
    cut: log.cut,
    records: log.topic,
    onAppend(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    failNextAppend(fault) {
      faults.push(fault)
    },
  }
}

function createStoredLog(now: () => Instant) {
  const leaderEpochs = new Map<readonly LogRecord[], number>()
  const log = new Map<TopicName, LogRecord[][]>(
    Object.values(topics).map(({ name }) => [name, Array.from({ length: partitionCount }, (): LogRecord[] => [])]),
  )
  function stored(topic: TopicName, partition: number): LogRecord[] {
    const records = log.get(topic)?.[partition]
    if (records === undefined) throw new RangeError(`${topic} has no partition ${partition}.`)
    return records
  }
  return {
    partition: stored,
    topic: (topic: TopicName) => (log.get(topic) ?? []).flat(),
    store(topic: TopicName, partition: number, records: readonly NewRecord[]): RecordMark {
      const target = stored(topic, partition)
      const appendedAt = now()
      const leaderEpoch = leaderEpochs.get(target)
      for (const { key, headers, value } of records) {
        const record = { topic, partition, offset: target.length, appendedAt, key, headers: { ...headers }, value }
        target.push(logRecord(leaderEpoch === undefined ? record : { ...record, leaderEpoch }))
      }
      return { offset: target.length - 1, appendedAt }
    },
    cut(topic: TopicName, partition: number, offset: number) {
      const target = stored(topic, partition)
      target.length = Math.min(target.length, offset)
      leaderEpochs.set(target, (leaderEpochs.get(target) ?? 0) + 1)
    },
  }
}

function exceedsTopic(topic: TopicName, records: readonly NewRecord[]): boolean {
  const bytes = records.reduce((sum, { value }) => sum + value.byteLength, 0)
  const limit = Object.values(topics).find(({ name }) => name === topic)?.config['max.message.bytes']
  return bytes > Number(limit)
}
