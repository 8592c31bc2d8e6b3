import { randomUUID } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { createMongo, type Mongo } from '#shared/adapters/mongo/connect.ts'

/** A new database, which is dropped at the end of the current test. */
export function temporaryMongo(url: string = inject('mongodbUrl')): Mongo {
  const mongo = createMongo({ url, database: `test_${randomUUID()}` })
  onTestFinished(async () => {
    await mongo.db.dropDatabase()
    await mongo.close()
  })
  return mongo
}
