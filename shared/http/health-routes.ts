import type { FastifyInstance } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import type { HealthCheck, ReadinessResponse } from '#schemas/http/health.ts'
import type { Clock } from '#shared/ports/clock.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { addPublicRoute } from './route.ts'

type Dependency = Exclude<keyof ReadinessResponse['checks'], 'ai_system'>
type Check = () => Promise<boolean>

export type HealthOptions = {
  readonly version: string
  readonly clock: Clock
  /** A check returns true if the dependency works. Null: this process does not use the dependency. */
  readonly checks: Readonly<Record<Dependency, Check | null>>
  /** Reported as `ai_system`. Not part of `status`: without the AI system, imports are accepted and delivered later. */
  readonly aiSystem?: () => HealthCheck
  /** Sentences added to the message of the event log. They do not change its status: a restart would not help. */
  readonly eventLogRemarks?: () => readonly string[]
  readonly isStopping: () => boolean
  /** The timeout of a check in milliseconds. Below 2,000: `GET /readyz` must respond within 2 s. */
  readonly withinMs?: number
}

const labels: Readonly<Record<Dependency, string>> = { database: 'The database', event_log: 'The event log' }
const starting: HealthCheck = { status: 'unhealthy', message: 'The process is starting.' }
const shuttingDown: HealthCheck = { status: 'unhealthy', message: 'The process is shutting down.' }

const noRemarks = (): readonly string[] => []

export const healthRoutes = (options: HealthOptions) => {
  const { version, clock, checks, aiSystem, eventLogRemarks = noRemarks, isStopping, withinMs = 1_500 } = options
  return async function routes(app: FastifyInstance): Promise<void> {
    const database = checks.database && shareRunningCall(checks.database)
    const eventLog = checks.event_log && shareRunningCall(checks.event_log)

    addPublicRoute(app, contracts.readLiveness, async () => ({ status: 'ok' }))

    addPublicRoute(app, contracts.readReadiness, async (_request, reply) => {
      const [databaseHealth, eventLogHealth] = await Promise.all([
        healthOf('database', database),
        healthOf('event_log', eventLog),
      ])
      const healthy = databaseHealth.status === 'healthy' && eventLogHealth.status === 'healthy'
      const response: ReadinessResponse = {
        status: healthy ? 'healthy' : 'unhealthy',
        version,
        timestamp: new Date(clock.now()).toISOString(),
        checks: {
          database: databaseHealth,
          event_log: eventLogHealth,
          ...(aiSystem === undefined ? {} : { ai_system: isStopping() ? shuttingDown : aiSystem() }),
        },
      }
      return reply
        .code(healthy ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(response)
    })

    async function healthOf(dependency: Dependency, check: Check | null): Promise<HealthCheck> {
      if (isStopping()) return shuttingDown
      if (app.isHeld()) return starting
      const label = labels[dependency]
      if (check === null) return { status: 'healthy', message: `${label} is not used by this process.` }
      const works = await withDeadline(check(), withinMs, () => false).catch(() => false)
      if (!works) return { status: 'unhealthy', message: `${label} does not answer.` }
      const remarks = dependency === 'event_log' ? eventLogRemarks() : []
      return { status: 'healthy', message: [`${label} answers.`, ...remarks].join(' ') }
    }
  }
}

/** Concurrent calls share one running check, so that checks of a hanging dependency do not accumulate. */
function shareRunningCall(check: Check): Check {
  let running: Promise<boolean> | undefined
  return () => {
    running ??= check().finally(() => {
      running = undefined
    })
    return running
  }
}
