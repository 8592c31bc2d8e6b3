import type { TopicName } from '#schemas/events/catalogue.ts'
import type { ImportJobWriter } from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { FoldItem } from './fold-item.ts'

/** Records of one topic that may wait per partition number before reading it pauses. */
const inboxLimit = 2_000
/** Events of one topic that are folded at a time. */
const batchLimit = 1_000

/** One collection that the records go into, and how far it has them. */
export type LaneStore = { readonly jobs: ImportJobWriter; stored: readonly Position[] }

/** One partition number of both topics: one after another, so that nobody competes for a job's document. */
export type Lane = {
  readonly partition: number
  readonly partitions: readonly TopicPartition[]
  /** The one that is read first. Empty, as `opened` is, until the lane is opened. */
  stores: readonly LaneStore[]
  revision: number | null
  /** Where reading began. */
  opened: readonly Position[]
  readonly inbox: Map<TopicName, FoldItem[]>
  running: Promise<void> | null
  readonly paused: Set<TopicName>
  lost: boolean
}

export const newLane = (partition: number, partitions: readonly TopicPartition[]): Lane => ({
  partition,
  partitions,
  stores: [],
  revision: null,
  opened: [],
  inbox: new Map(),
  running: null,
  paused: new Set(),
  lost: false,
})

/** A record that says nothing needs no place of its own: the next one tells that it was passed. */
export function enqueue(lane: Lane, items: readonly FoldItem[]): void {
  for (const item of items) {
    const queue = lane.inbox.get(item.topic) ?? []
    if (queue.length === 0) lane.inbox.set(item.topic, queue)
    if (item.event === null && queue.at(-1)?.event === null) queue.pop()
    queue.push(item)
  }
}

/** Per topic, because a topic that waits at its limit must not keep the other from being read. */
const waiting = (lane: Lane, topic: TopicName): number => lane.inbox.get(topic)?.length ?? 0
export const isFull = (lane: Lane, topic: TopicName): boolean => waiting(lane, topic) >= inboxLimit
export const hasRoom = (lane: Lane, topic: TopicName): boolean => waiting(lane, topic) < inboxLimit / 2

/** The next records to fold, none at or beyond `limitOf` its partition. They stay in the inbox until `leave`. */
export function nextBatch(lane: Lane, limitOf: (partition: TopicPartition) => number): readonly FoldItem[] {
  return [...lane.inbox.values()].flatMap((queue) => {
    const limit = queue[0] === undefined ? 0 : limitOf(queue[0])
    const batch = queue.slice(0, batchLimit)
    const beyond = batch.findIndex(({ offset }) => offset >= limit)
    return beyond === -1 ? batch : batch.slice(0, beyond)
  })
}

export function leave(lane: Lane, batch: readonly FoldItem[]): void {
  for (const [topic, queue] of lane.inbox) {
    queue.splice(0, batch.filter((item) => item.topic === topic).length)
  }
}

/** Up to where every collection has the records, as far as this lane knows. */
export function reachedBy(lane: Lane): readonly Position[] {
  return lane.opened.map((beginning) => {
    return { ...beginning, offset: Math.min(...lane.stores.map(({ stored }) => offsetOf(stored, beginning))) }
  })
}

/** Where to read from: the collection that lacks most decides. */
export const openingOf = (stores: readonly LaneStore[], beginnings: readonly Position[]): readonly Position[] =>
  beginnings.map((beginning) => {
    return { ...beginning, offset: Math.min(...stores.map(({ stored }) => offsetOf(stored, beginning))) }
  })

const offsetOf = (positions: readonly Position[], place: TopicPartition): number =>
  positions.find(({ topic, partition }) => topic === place.topic && partition === place.partition)?.offset ?? 0
