import type { TopicName } from '#schemas/events/catalogue.ts'
import type { CommittedPosition, Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { ReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import type { TopicNames } from '../topic-names.ts'

/** What the cluster knows of a group's positions and of the partitions' beginnings. Throws `DependencyLost`. */
export function createOffsetLookup(options: { admin: ReconnectingAdmin; names: TopicNames; groupId: string }) {
  const { admin, names, groupId } = options

  async function committed(partitions: readonly TopicPartition[]): Promise<readonly CommittedPosition[]> {
    if (partitions.length === 0) return []
    const topics = topicsOf(partitions).map(names.inCluster)
    const answer = await admin.ask((client) => client.fetchOffsets({ groupId, topics }))
    return answer.flatMap(({ topic: name, partitions: offsets }) => {
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
          // -1: nothing committed. -2: kafkajs's own mark after an offset that no longer exists.
          .filter((position) => position.offset >= 0 && includes(partitions, position))
      )
    })
  }

  async function beginnings(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const answers = await Promise.all(
      topicsOf(partitions).map(async (topic) => {
        const offsets = await admin.ask((client) => client.fetchTopicOffsets(names.inCluster(topic)))
        return offsets.map(({ partition, low }) => ({ topic, partition, offset: Number(low) }))
      }),
    )
    return answers.flat().filter((position) => includes(partitions, position))
  }

  return { committed, beginnings }
}

function topicsOf(partitions: readonly TopicPartition[]): TopicName[] {
  return [...new Set(partitions.map(({ topic }) => topic))]
}

function includes(partitions: readonly TopicPartition[], { topic, partition }: TopicPartition): boolean {
  return partitions.some((one) => one.topic === topic && one.partition === partition)
}
