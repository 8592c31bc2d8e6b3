import { createRequire } from 'node:module'
import { type Message, patchFetchResponse, undecodableAfter } from './fetch-response.ts'
import { replaceMethod } from './replace-method.ts'

/** `topic` is the name in the cluster. */
type Place = { readonly topic: string; readonly partition: number }

/** `offset` is the offset of the first record of the batch. */
export type UndecodableRecords = Place & { readonly offset: number; readonly error: unknown }

export type FetchGuard = {
  /** Called for each fetched batch that cannot be decoded, when all records before the batch were delivered. */
  undecodable(records: UndecodableRecords): void
  /** True: fetches omit the partition. */
  isBlocked(partition: Place): boolean
}

type Batch = Place & {
  readonly fetchedOffset: string
  readonly rawMessages: readonly Message[]
  isEmptyIncludingFiltered(): boolean
}

/** The members of ConsumerGroup (kafkajs 2.2.4, src/consumer/consumerGroup) that the patch uses. */
type ConsumerGroup = {
  readonly cluster: object
  fetch(nodeId: string): Promise<readonly Batch[]>
  getActiveTopicPartitions(): Readonly<Record<string, Set<number>>>
}

const guards = new WeakMap<object, FetchGuard>()

/** Registers the guard of the consumer that uses this kafkajs cluster. */
export const guardFetches = (cluster: object, guard: FetchGuard): void => void guards.set(cluster, guard)

/**
 * Reports batches that cannot be decoded to the guard of the consumer, and delivers the other partitions. A consumer
 * without a guard gets the error, as from stock kafkajs. Idempotent.
 */
export function patchFetches(): void {
  patchFetchResponse()
  const load = createRequire(import.meta.url)
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup }
  replaceMethod(
    prototype,
    'fetch',
    (stock) =>
      async function fetch(this: ConsumerGroup, nodeId) {
        const batches = await stock.call(this, nodeId)
        return batches.filter((batch) => !isUndecodable(batch, guards.get(this.cluster)))
      },
  )
  replaceMethod(
    prototype,
    'getActiveTopicPartitions',
    (stock) =>
      function getActiveTopicPartitions(this: ConsumerGroup) {
        const active = stock.call(this)
        const guard = guards.get(this.cluster)
        if (guard === undefined) return active
        for (const [topic, partitions] of Object.entries(active))
          for (const partition of partitions) if (guard.isBlocked({ topic, partition })) partitions.delete(partition)
        return active
      },
  )
}

/** False when records precede the undecodable batch: the next fetch begins with the undecodable batch. */
function isUndecodable(batch: Batch, guard: FetchGuard | undefined): boolean {
  const found = undecodableAfter(batch.rawMessages)
  if (found === undefined || !batch.isEmptyIncludingFiltered()) return false
  if (guard === undefined) throw found.error
  const { topic, partition } = batch
  guard.undecodable({ topic, partition, offset: found.offset ?? Number(batch.fetchedOffset), error: found.error })
  return true
}
