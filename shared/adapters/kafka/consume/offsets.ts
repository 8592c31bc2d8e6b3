import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type {
  CommittedPosition,
  GroupOffsets,
  LogHistory,
  LogRange,
  RecordMark,
  TopicPartition,
} from '#shared/ports/subscription.ts'
import type { ReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import type { TopicNames } from '../topic-names.ts'

type Cluster = { readonly admin: ReconnectingAdmin; readonly names: TopicNames }

const nothingCommitted = -1

export function createOffsetLookup(options: Cluster & { groupId: string }): Omit<GroupOffsets, 'commit'> {
  const { admin, names, groupId } = options

  async function committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]> {
    if (partitions.length === 0) return []
    const topics = topicsOf(partitions).map(names.inCluster)
    const found = await admin.run((client) => client.fetchOffsets({ groupId, topics }))
    return found.flatMap(({ topic: name, partitions: offsets }) => {
      const topic = names.inCatalogue(name)
      if (topic === null) return []
      return offsets
        .map(({ partition, offset, metadata }) => ({
          topic,
          partition,
          offset: Number(offset),
          metadata: metadata ?? '',
        }))
        .filter((position) => position.offset !== nothingCommitted && includes(partitions, position))
        .map((position) => (position.offset < 0 ? { ...position, offset: null } : position))
    })
  }

  return { committed }
}

/**
 * Records of one partition have ascending append times, except that the clock of a new leader may be behind the clock
 * of the former leader. A truncated log gets its next record later than this, because a broker must restart or lose
 * its leadership first.
 */
const clockDifferenceMs = 1_000

export function createLogHistory({ admin, names }: Cluster): LogHistory {
  async function ranges(partitions: readonly TopicPartition[]): Promise<readonly LogRange[]> {
    const found = await Promise.all(
      topicsOf(partitions).map(async (topic) => {
        const offsets = await admin.run((client) => client.fetchTopicOffsets(names.inCluster(topic)))
        return offsets.map(({ partition, low, high }) => ({ topic, partition, start: Number(low), end: Number(high) }))
      }),
    )
    return found.flat().filter((range) => includes(partitions, range))
  }

  async function offsetSince({ topic, partition }: TopicPartition, since: Instant): Promise<number> {
    const name = names.inCluster(topic)
    const offsets = await admin.run((client) => client.fetchTopicOffsetsByTimestamp(name, timestampFor(since)))
    return Number(ofPartition(offsets, name, partition).offset)
  }

  return {
    ranges,
    offsetSince,
    async holds(place, { offset, appendedAt }: RecordMark) {
      try {
        const [from, next] = await Promise.all([
          offsetSince(place, appendedAt),
          offsetSince(place, appendedAt + clockDifferenceMs),
        ])
        return from <= offset && next > offset
      } catch (error) {
        // Records next to a damaged batch cannot be compared. A fetch then reports the batch.
        if (error instanceof OffsetsUnavailable) return true
        throw error
      }
    },
  }
}

/** ListOffsets reserves negative timestamps: -1 is the latest offset, -2 the earliest. */
const timestampFor = (since: Instant): number => Math.max(0, Math.floor(since))

function ofPartition<T extends { readonly partition: number }>(
  found: readonly T[],
  name: string,
  partition: number,
): T {
  const one = found.find((offsets) => offsets.partition === partition)
  if (one === undefined) throw new OffsetsUnavailable(name, partition)
  return one
}

/** The partition does not exist, or its records at the looked-up time are damaged. */
export class OffsetsUnavailable extends Error {
  constructor(topic: string, partition: number) {
    super(`The broker cannot look up offsets of partition ${partition} of ${topic}. A record batch may be damaged.`)
    this.name = 'OffsetsUnavailable'
  }
}

function topicsOf(partitions: readonly TopicPartition[]): TopicName[] {
  return [...new Set(partitions.map(({ topic }) => topic))]
}

function includes(partitions: readonly TopicPartition[], { topic, partition }: TopicPartition): boolean {
  return partitions.some((one) => one.topic === topic && one.partition === partition)
}

/** `end` is excluded. */
export type OffsetRange = { readonly from: number; readonly end: number }

/** Offsets of records appended at or after `since`; `from` equals `end` if there are none. Throws `DependencyLost`. */
export async function offsetsSince(
  { admin, names }: Cluster,
  { topic, partition }: TopicPartition,
  since: Instant,
): Promise<OffsetRange> {
  const name = names.inCluster(topic)
  const [sinceOffsets, offsets] = await admin.run((client) =>
    Promise.all([client.fetchTopicOffsetsByTimestamp(name, timestampFor(since)), client.fetchTopicOffsets(name)]),
  )
  const { offset } = ofPartition(sinceOffsets, name, partition)
  return { from: Number(offset), end: Number(ofPartition(offsets, name, partition).high) }
}
