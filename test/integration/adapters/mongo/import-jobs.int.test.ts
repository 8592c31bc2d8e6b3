import { describe, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createMongoImportJobs } from '#shared/adapters/mongo/import-jobs.ts'
import { foldPositionsContract } from '#test/contract/fold-positions.ts'
import { importJobsContract, jobDocument } from '#test/contract/import-jobs.ts'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'

describe('import jobs in MongoDB', () => {
  importJobsContract(() => createMongoImportJobs(temporaryMongo()))
  foldPositionsContract(() => createMongoImportJobs(temporaryMongo()))

  test('two collections have separate documents and positions', async () => {
    const { db } = temporaryMongo()
    const current = createMongoImportJobs({ db })
    const rebuilt = createMongoImportJobs({ db, collection: 'import_jobs_rebuilt' })
    const partition = { topic: topics.imports.name, partition: 0 }
    const document = jobDocument(1)
    await current.save([{ document, foldedFrom: null }])
    await current.advance([{ ...partition, from: null, to: 5 }])
    expect(await rebuilt.find(document._id)).toBeNull()
    expect(await rebuilt.positions([partition])).toEqual([])
    await rebuilt.advance([{ ...partition, from: null, to: 1 }])
    expect(await current.positions([partition])).toEqual([{ ...partition, offset: 5 }])
  })

  test('60 documents of 1,000 chunks are written within the time limits', async () => {
    const jobs = createMongoImportJobs(temporaryMongo())
    const [chunk] = jobDocument(1).chunks
    if (chunk === undefined) throw new Error('the sample has a chunk')
    const chunks = Array.from({ length: 1_000 }, (_, chunk_index) => ({ ...chunk, chunk_index }))
    const changes = Array.from({ length: 60 }, () => ({ document: { ...jobDocument(1), chunks }, foldedFrom: null }))
    expect(await jobs.save(changes)).toEqual([])
    const loaded = await jobs.load(changes.map(({ document }) => document._id))
    expect([...loaded.values()].map((document) => document.chunks.length)).toEqual(changes.map(() => 1_000))
  })
})
