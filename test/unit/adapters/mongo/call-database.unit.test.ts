import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { callDatabase } from '#shared/adapters/mongo/call-database.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

// Seen when mongod is killed on a busy machine: the driver writes to a socket that has had its end, and answered 500.
const brokenPipe = Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' })
const result = { getWriteConcernError: () => undefined }

const thrownBy = (error: unknown) =>
  callDatabase(() => Promise.reject(error)).then(
    () => null,
    (thrown: unknown) => thrown,
  )

describe('a lost database', () => {
  it.each([
    ['alone', brokenPipe],
    ['within a bulk write', Object.assign(Object.create(MongoBulkWriteError.prototype), { code: 'EPIPE', result })],
  ])('is a write to a connection that has just been closed, %s', async (_how, error) => {
    expect(await thrownBy(error)).toBeInstanceOf(DependencyLost)
    expect(await thrownBy(error)).toMatchObject({ dependency: 'database', cause: error })
  })

  it('is not a command that the server refused', async () => {
    const refused = new MongoServerError({ message: 'duplicate key', code: 11000 })
    expect(await thrownBy(refused)).toBe(refused)
  })
})
