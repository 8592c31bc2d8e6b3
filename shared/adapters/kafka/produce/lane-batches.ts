import type { PartitionAnswer, ProducerId } from './broker-client.ts'
import type { LaneQueue } from './lane-queue.ts'
import type { Leaders } from './leaders.ts'
import { type Batch, createPartitionBatch } from './partition-batch.ts'

export type LaneBatchesOptions = {
  readonly queue: LaneQueue
  readonly leaders: Leaders
  readonly partitions: number
  /** Milliseconds from the first send of a batch until its callers get `ambiguous`. */
  readonly sendTimeoutMs: number
}

/** Bounds a request that repeats batches of several partitions. */
const maxRepeatBytes = 16 * 1024 * 1024
/** A leader that needs longer for a send is treated as not accepting. */
const delayedAfterMs = 500

export type LaneBatches = ReturnType<typeof createLaneBatches>

/** The unacknowledged batches of all partitions, and the work that waits for each leader. */
export function createLaneBatches({ queue, leaders, partitions: count, sendTimeoutMs }: LaneBatchesOptions) {
  const producer = createProducerId(leaders)
  const partitions = Array.from({ length: count }, (_, partition) =>
    createPartitionBatch({ partition, queue, sendTimeoutMs, onProducerLost: producer.forget }),
  )
  const ready = (leader: number): readonly number[] =>
    [...partitions.keys()].filter((id) => leaders.leaderOf(id) === leader && partitions[id]?.maySend())
  const unsettled = (): readonly Batch[] => partitions.flatMap((partition) => partition.current() ?? [])

  /** Takes the batches for the next request to this leader. Repeats come before new batches. */
  function take(leader: number, current: ProducerId): readonly Batch[] {
    const open = ready(leader)
    const waiting = open.flatMap((id) => partitions[id]?.current() ?? [])
    if (waiting.length > 0) return repeat(waiting, leader)
    const taken = Map.groupBy(queue.take(new Set(open)), ({ partition }) => partition)
    return [...taken].flatMap(([id, appends]) => partitions[id]?.begin(appends, leader, current) ?? [])
  }

  /** Ends batches at their deadline. Closes connections to brokers that no longer lead a partition in flight. */
  function endDelayed() {
    for (const batch of unsettled().filter(isDelayed)) {
      const leader = leaders.leaderOf(batch.partition)
      const expired = performance.now() > batch.deadline
      const moved = leader >= 0 && leader !== batch.sentTo
      if (batch.state === 'in_flight' && (expired || moved)) leaders.drop(batch.sentTo)
      if (expired) giveUp(batch)
    }
  }

  const giveUp = ({ partition }: Batch) =>
    partitions[partition]?.giveUp(new Error(`The event log did not answer within ${sendTimeoutMs} ms.`))

  return {
    producerId: producer.current,
    take,
    answered(batch: Batch, answer: PartitionAnswer | null) {
      partitions[batch.partition]?.answered(batch, answer)
    },
    endDelayed,
    /** Gives up all batches. */
    close: () => unsettled().forEach(giveUp),
    hasWork: (leader: number): boolean =>
      ready(leader).some((id) => queue.records(id) > 0 || partitions[id]?.current() !== null),
    waitingRecords: (leader: number): number => ready(leader).reduce((sum, id) => sum + queue.records(id), 0),
    isIdle: () => queue.isEmpty() && unsettled().length === 0,
    hasDelayed: (): boolean => unsettled().some(isDelayed),
    isDelayed: (leader: number): boolean => unsettled().some((batch) => batch.sentTo === leader && isDelayed(batch)),
  }
}

const isDelayed = ({ state, sentAt }: Batch): boolean =>
  state === 'waiting' || performance.now() - sentAt > delayedAfterMs

/** One request has the batches of one producer id. */
function repeat(waiting: readonly Batch[], leader: number): readonly Batch[] {
  const [first] = waiting
  let bytes = 0
  const group = waiting.filter((batch) => {
    bytes += batch.bytes
    return batch === first || (batch.producer === first?.producer && bytes <= maxRepeatBytes)
  })
  for (const batch of group) {
    batch.sends += 1
    batch.sentTo = leader
    batch.sentAt = performance.now()
    batch.state = 'in_flight'
  }
  return group
}

/** The producer id for new batches. Simultaneous calls share one request. */
function createProducerId(leaders: Leaders) {
  let known: ProducerId | null = null
  let obtaining: Promise<ProducerId | null> | null = null
  return {
    /** Null when no broker answers. */
    async current(): Promise<ProducerId | null> {
      if (known !== null) return known
      obtaining ??= leaders.newProducerId().finally(() => {
        obtaining = null
      })
      known = await obtaining
      return known
    },
    forget(lost: ProducerId) {
      if (known === lost) known = null
    },
  }
}
