import type { AppendOutcome } from '#shared/ports/event-log.ts'
import type { PlacedRecord } from './lane-producer.ts'

/** One append that waits for its send: its records are never split. */
export type Waiting = {
  readonly records: readonly PlacedRecord[]
  readonly partition: number
  readonly bytes: number
  readonly urgent: boolean
  readonly since: number
  /** Leaves without company, because a common send was refused for its size. */
  alone: boolean
  settle(outcome: AppendOutcome): void
}

export type LaneQueueOptions = {
  readonly maxQueuedBytes: number
  readonly maxQueuedAgeMs: number
  readonly maxGroupBytes: number
}

/** As many records as one group may have: enough to make a round trip cheap, few enough for kafkajs to group fast. */
const maxGroupRecords = 1_000
/** Length, deltas and attributes of a record and lengths of its headers; an upper estimate. */
const recordOverhead = 64
const ageCheckMs = 100

export type LaneQueue = ReturnType<typeof createLaneQueue>

/** First come, first sent. Bounded by bytes and age, but for urgent appends, which always stay until they are sent. */
export function createLaneQueue({ maxQueuedBytes, maxQueuedAgeMs, maxGroupBytes }: LaneQueueOptions) {
  let queue: Waiting[] = []
  let queuedBytes = 0
  let queuedRecords = 0
  let ageCheck: NodeJS.Timeout | undefined

  function count({ bytes, records }: Waiting, sign: 1 | -1) {
    queuedBytes += sign * bytes
    queuedRecords += sign * records.length
  }

  function add(append: Pick<Waiting, 'records' | 'partition' | 'urgent'>): Promise<AppendOutcome> {
    const bytes = append.records.reduce((sum, record) => sum + sizeOf(record), 0)
    const full = queue.length > 0 && queuedBytes + bytes > maxQueuedBytes
    if (full && !append.urgent) return Promise.resolve({ is: 'overloaded' })
    const { promise, resolve } = Promise.withResolvers<AppendOutcome>()
    const waiting = { ...append, bytes, since: performance.now(), alone: false, settle: resolve }
    queue.push(waiting)
    count(waiting, 1)
    return promise
  }

  /** The longest head of the queue that may leave together; at least one append unless the queue is empty. */
  function take(): readonly Waiting[] {
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
    const group = queue.splice(0, callers)
    for (const one of group) count(one, -1)
    return group
  }

  /** For a group that was surely not sent. Its age goes on. */
  function putBack(group: readonly Waiting[]) {
    queue.unshift(...group)
    for (const one of group) count(one, 1)
  }

  function putBackAlone(group: readonly Waiting[]) {
    for (const one of group) one.alone = true
    putBack(group)
  }

  function refuse(which: (one: Waiting) => boolean) {
    const refused = queue.filter(which)
    if (refused.length === 0) return
    queue = queue.filter((one) => !which(one))
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

  /** Answers all that still waits: none of it was sent. */
  function close() {
    clearInterval(ageCheck)
    refuse(() => true)
  }

  return {
    ...{ add, take, putBack, putBackAlone, watchAge, close },
    isEmpty: () => queue.length === 0,
    /** Those of all appends that wait. */
    records: () => queuedRecords,
  }
}

function sizeOf({ key, headers, value }: PlacedRecord): number {
  let bytes = recordOverhead + Buffer.byteLength(key ?? '') + (value?.byteLength ?? 0)
  for (const [name, text] of Object.entries(headers)) {
    const values = typeof text === 'string' || text instanceof Uint8Array ? [text] : text
    for (const one of values) bytes += Buffer.byteLength(name) + Buffer.byteLength(one) + 4
  }
  return bytes
}
