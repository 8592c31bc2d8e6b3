import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { callDatabase } from '#shared/adapters/mongo/call-database.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

// Regression: after mongod was killed, the driver wrote to a closed socket and the service answered 500.
const brokenPipe = Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' })
const result = { getWriteConcernError: () => undefined }

const thrownBy = (error: unknown) =>
  callDatabase(() => Promise.reject(error)).then(
    () => null,
    (thrown: unknown) => thrown,
  )

describe('callDatabase', () => {
  it.each([
    ['alone', brokenPipe],
    ['within a bulk write', Object.assign(Object.create(MongoBulkWriteError.prototype), { code: 'EPIPE', result })],
  ])('reports a write to a closed connection as a lost database, %s', async (_how, error) => {
    expect(await thrownBy(error)).toBeInstanceOf(DependencyLost)
    expect(await thrownBy(error)).toMatchObject({ dependency: 'database', cause: error })
  })

  it('rethrows a command error of the server', async () => {
    const refused = new MongoServerError({ message: 'duplicate key', code: 11000 })
    expect(await thrownBy(refused)).toBe(refused)
  })
})
