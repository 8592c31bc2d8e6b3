import type { Log } from '#shared/runtime/log.ts'
import { exponentialDelays } from '#shared/runtime/retry.ts'
import type { UndecodableRecords } from '../patches/fetch-guard.ts'
import type { ClusterPartition } from './membership.ts'

/** `offset` of the record batch that cannot be decoded; null when a look-up by time met the batch. */
export type UnreadablePartition = ClusterPartition & { readonly offset: number | null }

type Block = {
  readonly at: UnreadablePartition
  readonly delays: Iterator<number, never>
  readonly retryAt: number
}

/** Partitions whose next record batch cannot be decoded. Each is fetched again after 1 s, 2 s, and so on up to 30 s. */
export function createUnreadablePartitions(log: Log, now: () => number = () => performance.now()) {
  const blocks = new Map<string, Block>()

  return {
    add({ topic, partition, offset, error }: UndecodableRecords): void {
      const key = keyOf({ topic, partition })
      const known = blocks.get(key)
      const isKnown = known !== undefined && known.at.offset === offset
      const delays = isKnown ? known.delays : exponentialDelays({ firstMs: 1_000, mostMs: 30_000 })
      blocks.set(key, { at: { topic, partition, offset }, delays, retryAt: now() + delays.next().value })
      if (!isKnown)
        log.error(
          { topic, partition, offset, err: error },
          'a record batch cannot be decoded; its partition is not read until the batch is repaired or removed',
        )
    },
    isBlocked: (place: ClusterPartition): boolean => now() < (blocks.get(keyOf(place))?.retryAt ?? 0),
    /** A later batch of the partition was read. */
    read(place: ClusterPartition): void {
      const known = blocks.get(keyOf(place))
      if (known === undefined) return
      blocks.delete(keyOf(place))
      log.info(known.at, 'the partition can be read again')
    },
    /** Forgets the partitions that this member does not own, and fetches the others at once. */
    assigned(places: readonly ClusterPartition[]): void {
      const owned = new Set(places.map(keyOf))
      for (const [key, block] of blocks) {
        if (owned.has(key)) blocks.set(key, { ...block, retryAt: 0 })
        else blocks.delete(key)
      }
    },
    list: (): readonly UnreadablePartition[] => [...blocks.values()].map(({ at }) => at),
  }
}

const keyOf = ({ topic, partition }: ClusterPartition): string => `${topic}/${partition}`
