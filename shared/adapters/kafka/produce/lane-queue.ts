import type { AppendOutcome } from '#shared/ports/event-log.ts'
import type { PlacedRecord } from './lane-producer.ts'

/** One queued append. Its records are sent together. */
export type Waiting = {
  readonly records: readonly PlacedRecord[]
  readonly partition: number
  readonly bytes: number
  readonly urgent: boolean
  readonly since: number
  /** Send without other appends, because the broker refused a group with this append as too large. */
  alone: boolean
  settle(outcome: AppendOutcome): void
}

export type LaneQueueOptions = {
  readonly maxQueuedBytes: number
  readonly maxQueuedAgeMs: number
  readonly maxGroupBytes: number
}

/** Enough records to share a round trip. kafkajs takes longer to encode larger groups. */
const maxGroupRecords = 1_000
/** Upper estimate in bytes for a record's length fields, deltas and attributes. */
const recordOverhead = 64
const ageCheckMs = 100

export type LaneQueue = ReturnType<typeof createLaneQueue>

/** A FIFO queue with limits on bytes and age. Urgent appends ignore both limits. */
export function createLaneQueue({ maxQueuedBytes, maxQueuedAgeMs, maxGroupBytes }: LaneQueueOptions) {
  let queue: Waiting[] = []
  let ageCheck: NodeJS.Timeout | undefined
  const queued = { bytes: 0, records: 0 }

  function count({ bytes, records }: Waiting, sign: 1 | -1) {
    queued.bytes += sign * bytes
    queued.records += sign * records.length
  }

  function add(append: Pick<Waiting, 'records' | 'partition' | 'urgent'>): Promise<AppendOutcome> {
    const bytes = append.records.reduce((sum, record) => sum + sizeOf(record), 0)
    const full = queue.length > 0 && queued.bytes + bytes > maxQueuedBytes
    if (full && !append.urgent) return Promise.resolve({ is: 'overloaded' })
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    const waiting = { ...append, bytes, since: performance.now(), alone: false, settle: resolve }
    queue.push(waiting)
    count(waiting, 1)
    return promise
  }

  function take(): readonly Waiting[] {
    const group = queue.splice(0, groupLength(queue, maxGroupBytes))
    for (const one of group) count(one, -1)
    return group
  }

  /** Only for appends that were not sent. They keep their age. */
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

  function watchAge() {
    ageCheck ??= setInterval(() => {
      const oldest = performance.now() - maxQueuedAgeMs
      refuse(({ urgent, since }) => !urgent && since < oldest)
    }, ageCheckMs).unref()
  }

  function close() {
    clearInterval(ageCheck)
    refuse(() => true)
  }

  return { add, take, putBack, watchAge, close, isEmpty: () => queue.length === 0, records: () => queued.records }
}

function groupLength(queue: readonly Waiting[], maxGroupBytes: number): number {
  let callers = 0
  let records = 0
  let bytes = 0
  for (const next of queue) {
    records += next.records.length
    bytes += next.bytes
    if (callers > 0 && (next.alone || records > maxGroupRecords || bytes > maxGroupBytes)) break
    callers += 1
    if (next.alone) break
  }
  return callers
}

function sizeOf({ key, headers, value }: PlacedRecord): number {
  let bytes = recordOverhead + Buffer.byteLength(key ?? '') + (value?.byteLength ?? 0)
  for (const [name, text] of Object.entries(headers)) {
    const values = typeof text === 'string' || text instanceof Uint8Array ? [text] : text
    for (const one of values) bytes += Buffer.byteLength(name) + Buffer.byteLength(one) + 4
  }
  return bytes
}
