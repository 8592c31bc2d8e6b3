import type { Db } from 'mongodb'
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible'
import type { Quota, RateLimiter } from '#shared/ports/rate-limiter.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { callDatabase } from './call-database.ts'
import { createGroupCommit } from './group-commit.ts'
import { createRecentlyUsed } from './recently-used.ts'

export const rateLimitsCollection = 'rate_limits'

const deadlineMs = 1_000
/** High enough that all waiting requests are counted by the next call. */
const maxGroup = 10_000
/** Clients whose requests are counted in groups. A larger number would only need more memory. */
const maxClients = 1_000
/** Time without calls after a failure, so that not every request waits for the deadline. */
const cooldownMs = 1_000

type Options = {
  readonly db: Db
  /** Called once when this process starts to count in memory because the database failed. */
  readonly onFallback?: (cause: unknown) => void
  /** Default 1. Tests use a longer window, so that it does not end during the test. */
  readonly windowSeconds?: number
}

/** `at`: the time of the count by the database's clock, because the clocks of instances differ. */
type Window = { readonly _id: string; readonly points: number; readonly expire: Date; readonly at: Date }
type Count = (key: string, points: number, windowMs: number) => Promise<Window>

/** The statement of rate-limiter-flexible needs a second call for a new window and uses the clock of each instance. */
class SingleCallLimiter extends RateLimiterMongo {
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
 * Counts requests per client in MongoDB in fixed windows that begin with the first request. Makes at most
 * one call per request, and none while the quota is known to be used up. Write concern 1: losing a window is harmless.
 */
export function createMongoRateLimiter({ db, onFallback, windowSeconds = 1 }: Options): RateLimiter {
  const count = withCooldown(inGroups(createCount(db)), onFallback)
  const limiters = new Map<number, SingleCallLimiter>()

  function limiterFor(perSecond: number): SingleCallLimiter {
    const known = limiters.get(perSecond)
    if (known !== undefined) return known
    const limiter = new SingleCallLimiter(count, { db, points: perSecond, duration: windowSeconds })
    limiters.set(perSecond, limiter)
    return limiter
  }

  return {
    async consume(clientId, perSecond) {
      try {
        return quotaOf(await limiterFor(perSecond).consume(clientId), true)
      } catch (thrown) {
        // The library rejects with the quota when the limit is exceeded.
        if (thrown instanceof RateLimiterRes) return quotaOf(thrown, false)
        throw thrown
      }
    },
  }
}

const quotaOf = ({ remainingPoints, msBeforeNext }: RateLimiterRes, allowed: boolean): Quota => ({
  allowed,
  remaining: remainingPoints,
  resetMs: msBeforeNext,
})

/** One statement on one `_id`. The server retries the upsert when two requests begin a window at the same time. */
function createCount(db: Db): Count {
  const windows = db.collection<Window>(rateLimitsCollection, { writeConcern: { w: 1 } })
  return async (key, points, windowMs) => {
    const fullWindowFromNow = { $add: ['$$NOW', windowMs] }
    // Ignore a window that would end later than a window that starts now: the clock was set back since its start.
    const running = { $and: [{ $gt: ['$expire', '$$NOW'] }, { $lte: ['$expire', fullWindowFromNow] }] }
    const counted = await callDatabase(
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

/** Counts the requests of a client that arrive during a call in the next call. Each request gets its own count. */
function inGroups(count: Count): Count {
  type Request = { readonly points: number; readonly windowMs: number }
  const counting = (key: string) => async (group: readonly Request[]) => {
    const all = group.reduce((sum, { points }) => sum + points, 0)
    const counted = await count(key, all, Math.max(...group.map(({ windowMs }) => windowMs)))
    let total = counted.points - all
    return group.map(({ points }) => {
      total += points
      return { ...counted, points: total }
    })
  }

  // Any entry may be evicted: two simultaneous groups of one client are counted correctly.
  const groupOf = createRecentlyUsed(maxClients, (key) => createGroupCommit({ write: counting(key), maxGroup }))
  return (key, points, windowMs) => callDatabase(() => groupOf(key)({ points, windowMs }), deadlineMs)
}

function withCooldown(count: Count, onFallback?: (cause: unknown) => void): Count {
  let lost: { readonly cause: unknown; readonly until: number } | null = null
  return async (key, points, windowMs) => {
    if (lost !== null && performance.now() < lost.until) throw new DependencyLost('database', lost.cause)
    try {
      const counted = await count(key, points, windowMs)
      lost = null
      return counted
    } catch (cause) {
      if (lost === null) onFallback?.(cause)
      lost = { cause, until: performance.now() + cooldownMs }
      throw cause
    }
  }
}
