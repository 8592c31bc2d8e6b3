import type { TopicName } from '#schemas/events/catalogue.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import type { FoldItem } from './fold-item.ts'

/** Records per topic. */
const queueLimit = 2_000
const batchLimit = 1_000

/** The waiting records of one partition number. Each topic has its own queue, so that a full one does not block the other. */
export type PartitionQueue = {
  add(items: readonly FoldItem[]): void
  /** Returns the next records below the offset limit of their partition. Records stay in the queue until `remove`. */
  next(limitOf: (partition: TopicPartition) => number): readonly FoldItem[]
  remove(batch: readonly FoldItem[]): void
  isFull(topic: TopicName): boolean
  hasRoom(topic: TopicName): boolean
}

export function createPartitionQueue(): PartitionQueue {
  const waiting = new Map<TopicName, FoldItem[]>()
  const length = (topic: TopicName): number => waiting.get(topic)?.length ?? 0
  return {
    add(items) {
      for (const item of items) {
        const queue = waiting.get(item.topic) ?? []
        if (queue.length === 0) waiting.set(item.topic, queue)
        // Keep only the last of consecutive records without an event.
        if (item.event === null && queue.at(-1)?.event === null) queue.pop()
        queue.push(item)
      }
    },
    next(limitOf) {
      return [...waiting.values()].flatMap((queue) => {
        const limit = queue[0] === undefined ? 0 : limitOf(queue[0])
        const batch = queue.slice(0, batchLimit)
        const atLimit = batch.findIndex(({ offset }) => offset >= limit)
        return atLimit === -1 ? batch : batch.slice(0, atLimit)
      })
    },
    remove(batch) {
      for (const [topic, queue] of waiting) queue.splice(0, batch.filter((item) => item.topic === topic).length)
    },
    isFull: (topic) => length(topic) >= queueLimit,
    hasRoom: (topic) => length(topic) < queueLimit / 2,
  }
}
