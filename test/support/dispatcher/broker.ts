import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { chunkKey } from '#services/dispatcher/chunk.ts'
import { parseNeeds, parseRecordBefore } from '#services/dispatcher/partition/commit-metadata.ts'
import { decodeEvent, readPlannedChunk } from '#shared/domain/events/codec.ts'
import type { AppendOutcome, LogRecord, NewRecord } from '#shared/ports/event-log.ts'
import type { Commit } from '#shared/ports/subscription.ts'
import { createMemoryGroups } from '#test/twins/consumer-groups.ts'
import { createMemoryEventLog, type MemoryEventLog } from '#test/twins/event-log.ts'
import type { VirtualTime } from './virtual-time.ts'

export const imports = topics.imports.name
const deliveries = topics.deliveries.name
export const groupId = 'contact-import.dispatcher'
/** When a member joins, the first partition keeps its member and the last partition moves. */
export const scenarioPartitions = [0, partitionCount - 1] as const

/** An in-memory log. Consumers read records only after `show`. Collects violations of the delivery rules. */
export function createScenarioBroker(time: VirtualTime) {
  const log = createMemoryEventLog({ now: time.now })
  const groups = createMemoryGroups()
  const visible = new Map<number, number>()
  const consumers = new Set<() => void>()
  const outcomes = trackOutcomes(log)
  const violations: string[] = []
  const cut = new Set<number>()
  const consumerLog: MemoryEventLog = {
    ...log,
    partition: (topic, partition) => log.partition(topic, partition).slice(0, visible.get(partition) ?? 0),
    onAppend(listener) {
      consumers.add(listener)
      return () => consumers.delete(listener)
    },
  }
  const committedOffset = (partition: number): number =>
    groups.committed(groupId).find((position) => position.partition === partition)?.offset ?? 0

  return {
    log,
    groups,
    consumerLog,
    violations,
    committedOffset,
    isResolved: outcomes.isResolved,
    /** The keys of all chunks in `contact-import.imports`. */
    chunkKeys: (): ReadonlySet<string> => new Set(log.records(imports).flatMap(keysOf)),
    show(partition: number, count: number): void {
      const end = Math.min(log.partition(imports, partition).length, (visible.get(partition) ?? 0) + count)
      visible.set(partition, end)
      for (const notify of consumers) notify()
    },
    /** Removes the last records of a partition of `contact-import.imports`, like a power cut. */
    cut(partition: number, count: number): void {
      const end = Math.max(0, log.partition(imports, partition).length - count)
      cut.add(partition)
      log.cut(imports, partition, end)
      outcomes.forgetSuperseded(partition, end)
      visible.set(partition, Math.min(visible.get(partition) ?? 0, end))
      for (const notify of consumers) notify()
    },
    wasCut: () => cut.size > 0,
    /**
     * The offset must not move backwards, and every record below the offset must be done. After a cut, a process that
     * has not noticed the cut may commit an offset of the former log; the record in its metadata is then missing.
     */
    violationsOf({ partition, offset, metadata }: Commit): readonly string[] {
      const from = cut.has(partition) ? 0 : committedOffset(partition)
      if (offset < from) return [`the committed offset moves from ${from} back to ${offset}`]
      const records = log.partition(imports, partition)
      const before = parseRecordBefore(metadata ?? '')
      const marks = [before.is === 'record' ? before : null, parseNeeds(metadata ?? '')]
      if (marks.some((mark) => mark !== null && records[mark.offset]?.appendedAt !== mark.appendedAt)) return []
      const undone = records.slice(from, offset).filter((record) => !outcomes.isDone(record))
      return undone.map((record) => `offset ${offset} is committed, but record ${record.offset} is not done`)
    },
  }
}

export type ScenarioBroker = ReturnType<typeof createScenarioBroker>

function keysOf(record: LogRecord): readonly string[] {
  const read = readPlannedChunk(record)
  return read.is === 'chunk' ? [chunkKey(read.jobId, read.chunkIndex)] : []
}

function trackOutcomes(log: MemoryEventLog) {
  const resolved = new Set<string>()
  const superseded = new Set<string>()
  const read = new Map<number, number>()
  log.onAppend(() => {
    for (const partition of scenarioPartitions) {
      const records = log.partition(deliveries, partition)
      for (const record of records.slice(read.get(partition) ?? 0)) {
        const decoded = decodeEvent(record)
        if (decoded.is !== 'event') continue
        const { type, data } = decoded.event
        if (type === 'ChunkSent' || type === 'ChunkFailed') resolved.add(chunkKey(data.job_id, data.chunk_index))
        if (type === 'ChunkReplanned') superseded.add(`${partition}/${data.superseded_offset}`)
      }
      read.set(partition, records.length)
    }
  })
  return {
    isResolved: (key: string) => resolved.has(key),
    forgetSuperseded(partition: number, from: number): void {
      for (const one of superseded) {
        const [number, offset] = one.split('/').map(Number)
        if (number === partition && (offset ?? 0) >= from) superseded.delete(one)
      }
    },
    isDone: (record: LogRecord) =>
      superseded.has(`${record.partition}/${record.offset}`) || keysOf(record).every((key) => resolved.has(key)),
  }
}

export type Fault = 'stored, not acknowledged' | 'not stored'

/** Lets a test fail any append and delay the appends of replans. */
export function createScenarioAppends(log: MemoryEventLog) {
  const faults: Fault[] = []
  const held: (() => void)[] = []
  let holding = false
  const isReplan = ({ topic, headers }: NewRecord) =>
    topic === imports || headers.ce_type?.includes('Replanned') === true
  return {
    async append(records: readonly NewRecord[]): Promise<AppendOutcome> {
      if (holding && records.some(isReplan)) await new Promise<void>((resolve) => held.push(resolve))
      const fault = faults.shift()
      const stored = fault === 'not stored' ? null : await log.append(records)
      return fault === undefined && stored !== null ? stored : { is: 'ambiguous', cause: new Error(`${fault}`) }
    },
    /** At most two faults at a time: with more, an outcome would be appended after `formerCallLimitMs`. */
    fail(fault: Fault): void {
      if (faults.length < 2) faults.push(fault)
    },
    hold(on: boolean): void {
      holding = on
    },
    release(): void {
      held.shift()?.()
    },
    reset(): void {
      holding = false
      faults.length = 0
      for (const release of held.splice(0)) release()
    },
  }
}

export type ScenarioAppends = ReturnType<typeof createScenarioAppends>
