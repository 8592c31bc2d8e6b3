import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { CommittedPosition, GroupOffsets, Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { ReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import type { TopicNames } from '../topic-names.ts'

type Cluster = { readonly admin: ReconnectingAdmin; readonly names: TopicNames }

export function createOffsetLookup(options: Cluster & { groupId: string }): Omit<GroupOffsets, 'commit'> {
  const { admin, names, groupId } = options

  async function committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]> {
    if (partitions.length === 0) return []
    const topics = topicsOf(partitions).map(names.inCluster)
    const found = await admin.run((client) => client.fetchOffsets({ groupId, topics }))
    return found.flatMap(({ topic: name, partitions: offsets }) => {
      const topic = names.inCatalogue(name)
      if (topic === null) return []
      return (
        offsets
          .map(({ partition, offset, metadata }) => ({
            topic,
            partition,
            offset: Number(offset),
            metadata: metadata ?? '',
          }))
          // -1: nothing committed. -2: kafkajs commits -2 when the committed offset no longer exists.
          .filter((position) => position.offset >= 0 && includes(partitions, position))
      )
    })
  }

  async function beginnings(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const found = await Promise.all(
      topicsOf(partitions).map(async (topic) => {
        const offsets = await admin.run((client) => client.fetchTopicOffsets(names.inCluster(topic)))
        return offsets.map(({ partition, low }) => ({ topic, partition, offset: Number(low) }))
      }),
    )
    return found.flat().filter((position) => includes(partitions, position))
  }

  return { committed, beginnings }
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
    Promise.all([
      // ListOffsets reserves negative timestamps: -1 is the latest offset, -2 the earliest.
      client.fetchTopicOffsetsByTimestamp(name, Math.max(0, Math.floor(since))),
      client.fetchTopicOffsets(name),
    ]),
  )
  const from = sinceOffsets.find((one) => one.partition === partition)
  const whole = offsets.find((one) => one.partition === partition)
  if (from === undefined || whole === undefined) throw new Error(`${name} has no partition ${partition}.`)
  return { from: Number(from.offset), end: Number(whole.high) }
}
