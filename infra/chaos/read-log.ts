import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'

/** Reads all records of all topics, in the order of topic, partition and offset. */
export async function readLog(brokers: readonly string[], topicPrefix: string): Promise<readonly LogRecord[]> {
  const names = Object.values(topics).map(({ name }) => name)
  const kafka = createKafka({ brokers, clientId: 'contact-import.chaos' })
  const reader = createReader({ kafka, groupId: `${topicPrefix}chaos`, topics: names, topicPrefix })
  await reader.start()
  try {
    const records: LogRecord[] = []
    for (const name of names) {
      const partitions = Array.from({ length: partitionCount }, (_, partition) => partition)
      const read = await Promise.all(partitions.map((partition) => Array.fromAsync(reader.read(name, partition, 0))))
      records.push(...read.flat())
    }
    return records
  } finally {
    await reader.stop()
  }
}
