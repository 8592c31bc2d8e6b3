import type { Kafka } from 'kafkajs'
import type { LogTrimmer } from '#shared/ports/event-log.ts'
import { createTopicNames } from '../topic-names.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

/** Uses Kafka's DeleteRecords. The offsets of the remaining records do not change. */
export function createTrimmer(options: {
  readonly kafka: Kafka
  readonly topicPrefix?: string
}): LogTrimmer & { stop(): Promise<void> } {
  const names = createTopicNames(options.topicPrefix)
  const admin = createReconnectingAdmin(options.kafka)

  return {
    async removeBefore(topic, partition, offset) {
      const name = names.inCluster(topic)
      return admin.run(async (client) => {
        const offsets = await client.fetchTopicOffsets(name)
        const low = Number(offsets.find((one) => one.partition === partition)?.low ?? offset)
        if (low >= offset) return 0
        await client.deleteTopicRecords({ topic: name, partitions: [{ partition, offset: String(offset) }] })
        return offset - low
      })
    },
    stop: () => admin.close(),
  }
}
