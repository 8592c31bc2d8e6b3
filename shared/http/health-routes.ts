import type { FastifyInstance } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import type { HealthCheck, ReadinessResponse } from '#schemas/http/health.ts'
import type { Clock } from '#shared/ports/clock.ts'

export type Dependency = keyof ReadinessResponse['checks']

export type HealthOptions = {
  readonly version: string
  readonly clock: Clock
  /** Whether each dependency answers now; one that hangs or throws does not. Null: this process does without it. */
  readonly checks: Readonly<Record<Dependency, (() => Promise<boolean>) | null>>
  readonly isStopping: () => boolean
  /** How long a check may take, in milliseconds. The answer is promised within 2 s. */
  readonly withinMs?: number
}

const words = { database: 'The database', event_log: 'The event log' } as const

/** GET /healthz and GET /readyz, for every process. Neither needs a key. */
export const healthRoutes = ({ version, clock, checks, isStopping, withinMs = 1_500 }: HealthOptions) =>
  async function routes(app: FastifyInstance): Promise<void> {
    const look = Object.entries(checks).map(([name, check]) => ({ name, check: check && oneAtATime(check) }))

    app.get(contracts.readLiveness.url, async () => ({ status: 'ok' }))

    app.get(contracts.readReadiness.url, async (_request, reply) => {
      const stopping = isStopping()
      const results = await Promise.all(
        look.map(async ({ name, check }) => [name, stopping ? shuttingDown : await answer(name, check)] as const),
      )
      const healthy = !stopping && results.every(([, { status }]) => status === 'healthy')
      return reply
        .code(healthy ? 200 : 503)
        .header('cache-control', 'no-store')
        .send({
          status: healthy ? 'healthy' : 'unhealthy',
          version,
          timestamp: new Date(clock.now()).toISOString(),
          checks: Object.fromEntries(results),
        })
    })

    async function answer(name: string, check: (() => Promise<boolean>) | null): Promise<HealthCheck> {
      const what = name === 'database' || name === 'event_log' ? words[name] : name
      if (check === null) return { status: 'healthy', message: `${what} is not used by this process.` }
      return (await within(withinMs, check))
        ? { status: 'healthy', message: `${what} answers.` }
        : { status: 'unhealthy', message: `${what} does not answer.` }
    }
  }

const shuttingDown: HealthCheck = { status: 'unhealthy', message: 'The process is shutting down.' }

/** A check that hangs is not begun again by each probe: they wait for the one under way, each for its own time. */
function oneAtATime(check: () => Promise<boolean>): () => Promise<boolean> {
  let underWay: Promise<boolean> | undefined
  return () => {
    underWay ??= check().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

async function within(ms: number, check: () => Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([check(), tooLate])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
