import { randomUUID } from 'node:crypto'
import type { Kafka } from 'kafkajs'
import { eventually } from '../eventually.ts'

export type ReadRecord = {
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: string
}

export async function readTopic(kafka: Kafka, topic: string): Promise<readonly ReadRecord[]> {
  const admin = kafka.admin()
  const groupId = `read-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 200 })
  await Promise.all([admin.connect(), consumer.connect()])
  try {
    const ends = await eventually(() => admin.fetchTopicOffsets(topic)) // Fails until every partition has a leader.
    const expected = ends.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0)
    const records: ReadRecord[] = []
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)])
        records.push({
          partition,
          offset: Number(message.offset),
          key: message.key?.toString() ?? null,
          headers: Object.fromEntries(headers),
          value: message.value?.toString() ?? '',
        })
      },
    })
    await eventually(() => {
      if (records.length < expected) throw new Error(`read ${records.length} of ${expected} records of ${topic}`)
    })
    return records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset)
  } finally {
    await consumer.disconnect()
    await admin.deleteGroups([groupId]).catch(() => {})
    await admin.disconnect()
  }
}
