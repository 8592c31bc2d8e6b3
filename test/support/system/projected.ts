import type { Kafka } from 'kafkajs'
import type { Db } from 'mongodb'
import { expect } from 'vitest'
import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import type { OwnTopics } from '../backing/own-topics.ts'
import { asTexts, documentsOf, type History } from '../builders/job-history.ts'
import { logRecord } from '../builders/log-record.ts'
import { eventually } from '../eventually.ts'
import { readTopic } from '../kafka/read-topic.ts'

export async function appendHistory(own: OwnTopics, { imports, deliveries }: History): Promise<void> {
  const producer = own.kafka().producer()
  await producer.connect()
  const append = async (records: readonly EventRecord[]) => {
    for (let from = 0; from < records.length; from += 500) {
      const messages = records.slice(from, from + 500).map(({ key, headers, value }) => ({
        key,
        headers: { ...headers },
        value: Buffer.from(value),
      }))
      await producer.send({ topic: own.nameOf(records[from]?.topic ?? topics.imports.name), messages })
    }
  }
  await Promise.all([append(imports), append(deliveries)])
  await producer.disconnect()
}

/** Returns the documents that result from all events of the log, and the end offset of each partition. */
export async function projectionOf(kafka: Kafka, nameOf: OwnTopics['nameOf']) {
  const records = []
  for (const { name: topic } of [topics.imports, topics.deliveries]) {
    const read = await readTopic(kafka, nameOf(topic))
    records.push(
      ...read.map((one) => logRecord({ ...one, topic, appendedAt: 0, value: new TextEncoder().encode(one.value) })),
    )
  }
  const ends = new Map(records.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset + 1]))
  return { documents: documentsOf(records), ends }
}

export async function positionsOf(db: Db, collection: string): Promise<ReadonlyMap<string, number>> {
  const places = [topics.imports, topics.deliveries].flatMap(({ name: topic }) =>
    Array.from({ length: partitionCount }, (_, partition) => ({ topic, partition })),
  )
  const found = await createMongoImportJobs({ db, collection }).positions(places)
  return new Map(found.map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset]))
}

/** Waits until the positions reach the end offsets, then compares the collection with the documents byte for byte. */
export async function expectProjected(
  db: Db,
  { documents, ends }: Awaited<ReturnType<typeof projectionOf>>,
  { collection = 'import_jobs', withinMs = 60_000 } = {},
): Promise<void> {
  await eventually(
    async () => {
      const reached = await positionsOf(db, collection)
      expect([...ends].filter(([place, end]) => reached.get(place) !== end)).toEqual([])
    },
    { withinMs, everyMs: 100 },
  )
  const stored = await db.collection<ImportJobDocument>(collection).find().toArray()
  expect(asTexts(stored)).toEqual(documents)
}
