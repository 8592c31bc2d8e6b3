import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { chunkKey } from '#services/dispatcher/chunk.ts'
import { decodeEvent, readPlannedChunk } from '#shared/domain/events/codec.ts'
import type { AppendOutcome, NewRecord } from '#shared/ports/event-log.ts'
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
    show(partition: number, count: number): void {
      const end = Math.min(log.partition(imports, partition).length, (visible.get(partition) ?? 0) + count)
      visible.set(partition, end)
      for (const notify of consumers) notify()
    },
    /** The offset must not move backwards, and every record below the offset must be done. */
    violationsOf({ partition, offset }: Commit): readonly string[] {
      const from = committedOffset(partition)
      if (offset < from) return [`the committed offset moves from ${from} back to ${offset}`]
      return log
        .partition(imports, partition)
        .slice(from, offset)
        .flatMap((record) => {
          const read = readPlannedChunk(record)
          if (read.is !== 'chunk' || outcomes.isSuperseded(partition, record.offset)) return []
          if (outcomes.isResolved(chunkKey(read.jobId, read.chunkIndex))) return []
          return [`offset ${offset} is committed, but record ${record.offset} is not done`]
        })
    },
  }
}

export type ScenarioBroker = ReturnType<typeof createScenarioBroker>

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
    isSuperseded: (partition: number, offset: number) => superseded.has(`${partition}/${offset}`),
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
      if (fault !== 'not stored') await log.append(records)
      return fault === undefined ? { is: 'appended' } : { is: 'ambiguous', cause: new Error(fault) }
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
