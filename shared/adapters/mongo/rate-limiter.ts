import type { Db } from 'mongodb'
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible'
import type { Quota, RateLimiter } from '#shared/ports/rate-limiter.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { mapped } from './database-lost.ts'
import { createGroupCommit } from './group-commit.ts'

export const rateLimitsCollection = 'rate_limits'

/** A request waits no longer than this for the shared count. */
const deadlineMs = 1_000
/** All that wait: a request waits for the count under way and its own, and for no other. */
const maxGroup = 10_000
/** After a failure, for how long the shared count is not asked again, so that not every request waits for it. */
const silenceMs = 1_000

type Options = {
  readonly db: Db
  /** Told why, once each time the processes begin to limit by themselves. */
  readonly onStandIn?: (cause: unknown) => void
  /** One second, but for tests that must not meet the end of a window. */
  readonly windowSeconds?: number
}

/** `at`: the time of the database when it counted. All instances share that clock. */
type Window = { readonly _id: string; readonly points: number; readonly expire: Date; readonly at: Date }
type Count = (key: string, points: number, windowMs: number) => Promise<Window>

/**
 * The library's limiter on MongoDB, with another way to count. Its own takes a second call whenever a window has
 * ended, and reads the end of a window from the clock of each instance.
 */
class OneCallLimiter extends RateLimiterMongo {
  readonly #count: Count

  constructor(count: Count, { db, points, duration }: { db: Db; points: number; duration: number }) {
    super({
      storeClient: db,
      tableName: rateLimitsCollection,
      disableIndexesCreation: true,
      keyPrefix: '',
      points,
      duration,
      inMemoryBlockOnConsumed: points,
      insuranceLimiter: new RateLimiterMemory({ points, duration }),
    })
    this.#count = count
  }

  _upsert(key: string, points: number, windowMs: number): Promise<Window> {
    return this.#count(key, points, windowMs)
  }

  _getRateLimiterRes(_key: string, changed: number, { points, expire, at }: Window): RateLimiterRes {
    const msBeforeNext = Math.max(expire.getTime() - at.getTime(), 0)
    return new RateLimiterRes(Math.max(this.points - points, 0), msBeforeNext, points, points === changed)
  }
}

/**
 * Limits clients in MongoDB: one call per request or less, none for a client that this process knows to be exhausted. A
 * window begins with its first request. The count is not waited for on a majority: losing a second of it harms nobody.
 */
export function createMongoRateLimiter({ db, onStandIn, windowSeconds = 1 }: Options): RateLimiter {
  const count = restingWhenLost(inGroups(createCount(db)), onStandIn)
  const limiters = new Map<number, OneCallLimiter>()

  function limiterFor(perSecond: number): OneCallLimiter {
    const known = limiters.get(perSecond)
    if (known !== undefined) return known
    const limiter = new OneCallLimiter(count, { db, points: perSecond, duration: windowSeconds })
    limiters.set(perSecond, limiter)
    return limiter
  }

  return {
    async consume(clientId, perSecond) {
      try {
        return quotaOf(await limiterFor(perSecond).consume(clientId), true)
      } catch (refusal) {
        if (refusal instanceof RateLimiterRes) return quotaOf(refusal, false)
        throw refusal
      }
    },
  }
}

const quotaOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes, allowed: boolean): Quota => ({
  allowed,
  remaining: remainingPoints,
  resetMs: msBeforeNext,
})

/** One statement whatever is stored, on one `_id`: the server itself repeats it when two begin a window at once. */
function createCount(db: Db): Count {
  const windows = db.collection<Window>(rateLimitsCollection, { writeConcern: { w: 1 } })
  return async (key, points, windowMs) => {
    const fullWindowFromNow = { $add: ['$$NOW', windowMs] }
    // A window that ends later than one begun now is from before the clock was set back.
    const running = { $and: [{ $gt: ['$expire', '$$NOW'] }, { $lte: ['$expire', fullWindowFromNow] }] }
    const counted = await mapped(
      () =>
        windows.findOneAndUpdate(
          { _id: key },
          [
            {
              $set: {
                points: { $cond: [running, { $add: ['$points', points] }, points] },
                expire: { $cond: [running, '$expire', fullWindowFromNow] },
                at: '$$NOW',
              },
            },
          ],
          { upsert: true, returnDocument: 'after' },
        ),
      deadlineMs,
    )
    if (counted === null) throw new Error('An upsert of a rate limit returned no document.')
    return counted
  }
}

/** Requests of one client that come while its count is under way are counted together, and get a place in it each. */
function inGroups(count: Count): Count {
  type Request = { readonly points: number; readonly windowMs: number }
  const clients = new Map<string, (request: Request) => Promise<Window>>()

  const counting = (key: string) => async (group: readonly Request[]) => {
    const all = group.reduce((sum, { points }) => sum + points, 0)
    const counted = await count(key, all, Math.max(...group.map(({ windowMs }) => windowMs)))
    let place = counted.points - all
    return group.map(({ points }) => {
      place += points
      return { ...counted, points: place }
    })
  }

  return (key, points, windowMs) => {
    const commit = clients.get(key) ?? createGroupCommit({ write: counting(key), maxGroup })
    clients.set(key, commit)
    return mapped(() => commit({ points, windowMs }), deadlineMs)
  }
}

/** Fails at once for a while after a failure; the limiter in memory answers then. */
function restingWhenLost(count: Count, onStandIn?: (cause: unknown) => void): Count {
  let lost: { readonly cause: unknown; readonly until: number } | null = null
  return async (key, points, windowMs) => {
    if (lost !== null && performance.now() < lost.until) throw new DependencyLost('database', lost.cause)
    try {
      const counted = await count(key, points, windowMs)
      lost = null
      return counted
    } catch (cause) {
      if (lost === null) onStandIn?.(cause)
      lost = { cause, until: performance.now() + silenceMs }
      throw cause
    }
  }
}
