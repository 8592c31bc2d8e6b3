import type { AppendOutcome } from '#shared/ports/event-log.ts'
import type { PlacedRecord } from './record.ts'

/** One queued append. Its records are sent together. */
export type Waiting = {
  readonly records: readonly PlacedRecord[]
  readonly partition: number
  readonly bytes: number
  readonly urgent: boolean
  readonly since: number
  /** Send without other appends, because the broker refused a batch with this append as too large. */
  alone: boolean
  settle(outcome: AppendOutcome): void
}

type NewAppend = Pick<Waiting, 'records' | 'partition' | 'urgent'>

export type LaneQueueOptions = {
  readonly maxQueuedBytes: number
  readonly maxQueuedAgeMs: number
  readonly maxGroupBytes: number
}

/** Enough records to share a round trip. kafkajs takes longer to encode larger groups. */
const maxGroupRecords = 1_000
/** Upper estimate in bytes for a record's length fields, deltas and attributes. */
const recordOverhead = 64

export type LaneQueue = ReturnType<typeof createLaneQueue>

/** A FIFO queue per partition with common limits on bytes and age. Urgent appends ignore both limits. */
export function createLaneQueue({ maxQueuedBytes, maxQueuedAgeMs, maxGroupBytes }: LaneQueueOptions) {
  let queue: Waiting[] = []
  let bytesQueued = 0
  const recordsOf = new Map<number, number>()

  function count({ partition, bytes, records }: Waiting, sign: 1 | -1) {
    bytesQueued += sign * bytes
    recordsOf.set(partition, (recordsOf.get(partition) ?? 0) + sign * records.length)
  }

  /** Appends to partitions that are more delayed than others may fill only half of the queue. */
  function add(append: NewAppend, { delayed = false } = {}): Promise<AppendOutcome> {
    const bytes = append.records.reduce((sum, record) => sum + sizeOf(record), 0)
    const full = queue.length > 0 && bytesQueued + bytes > (delayed ? maxQueuedBytes / 2 : maxQueuedBytes)
    if (full && !append.urgent) return Promise.resolve({ is: 'overloaded' })
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    const waiting = { ...append, bytes, since: performance.now(), alone: false, settle: resolve }
    queue.push(waiting)
    count(waiting, 1)
    return promise
  }

  /** Takes the oldest appends to these partitions, as many as one request may hold. */
  function take(partitions: ReadonlySet<number>): readonly Waiting[] {
    const group = firstGroup(queue, partitions, maxGroupBytes)
    const taken = new Set(group)
    queue = taken.size === queue.length ? [] : queue.filter((one) => !taken.has(one))
    for (const one of group) count(one, -1)
    return group
  }

  /** Only for appends that were not stored. They keep their age. */
  function putBack(group: readonly Waiting[], { alone = false } = {}) {
    for (const one of group) if (alone) one.alone = true
    queue.unshift(...group)
    for (const one of group) count(one, 1)
  }

  function refuse(isRefused: (one: Waiting) => boolean) {
    const { refused = [], kept = [] } = Object.groupBy(queue, (one) => (isRefused(one) ? 'refused' : 'kept'))
    queue = kept
    for (const one of refused) {
      count(one, -1)
      one.settle({ is: 'overloaded' })
    }
  }

  return {
    add,
    take,
    putBack,
    refuseOld() {
      const oldest = performance.now() - maxQueuedAgeMs
      refuse(({ urgent, since }) => !urgent && since < oldest)
    },
    close: () => refuse(() => true),
    isEmpty: () => queue.length === 0,
    records: (partition: number) => recordsOf.get(partition) ?? 0,
  }
}

function firstGroup(queue: readonly Waiting[], partitions: ReadonlySet<number>, maxGroupBytes: number): Waiting[] {
  const group: Waiting[] = []
  let records = 0
  let bytes = 0
  for (const next of queue) {
    if (!partitions.has(next.partition)) continue
    records += next.records.length
    bytes += next.bytes
    if (group.length > 0 && (next.alone || records > maxGroupRecords || bytes > maxGroupBytes)) break
    group.push(next)
    if (next.alone) break
  }
  return group
}

function sizeOf({ key, headers, value }: PlacedRecord): number {
  let bytes = recordOverhead + Buffer.byteLength(key ?? '') + (value?.byteLength ?? 0)
  for (const [name, text] of Object.entries(headers)) {
    const values = typeof text === 'string' || text instanceof Uint8Array ? [text] : text
    for (const one of values) bytes += Buffer.byteLength(name) + Buffer.byteLength(one) + 4
  }
  return bytes
}
