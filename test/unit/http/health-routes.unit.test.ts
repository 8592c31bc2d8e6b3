import { describe, expect, test } from 'vitest'
import { LivenessResponse, ReadinessResponse } from '#schemas/http/health.ts'
import { type HealthOptions, healthRoutes } from '#shared/http/health-routes.ts'
import { createHttpApp } from '#shared/http/http-app.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'
import { silentLog } from '#test/support/silent-log.ts'

const ready = async () => true

async function appWith(options: Partial<HealthOptions>) {
  const app = await createHttpApp({ log: silentLog })
  await app.register(
    healthRoutes({
      version: '1.2.3',
      clock: { now: () => Date.UTC(2026, 0, 31) },
      checks: { database: ready, event_log: ready },
      isStopping: () => false,
      withinMs: 50,
      ...options,
    }),
  )
  return app
}

describe('health', () => {
  test('/healthz returns 200 even if dependencies do not respond', async () => {
    const app = await appWith({
      checks: { database: () => new Promise(() => {}), event_log: null },
      isStopping: () => true,
    })
    const reply = await app.inject({ url: '/healthz' })
    expect([reply.statusCode, reply.body]).toEqual([200, '{"status":"ok"}'])
    expect(faultsOf(LivenessResponse, reply.json())).toEqual([])
  })

  test('/readyz returns 200 if every dependency responds', async () => {
    const reply = await (await appWith({})).inject({ url: '/readyz' })
    expect(reply.statusCode).toBe(200)
    expect(reply.json()).toEqual({
      status: 'healthy',
      version: '1.2.3',
      timestamp: '2026-01-31T00:00:00.000Z',
      checks: {
        database: { status: 'healthy', message: 'The database answers.' },
        event_log: { status: 'healthy', message: 'The event log answers.' },
      },
    })
    expect(faultsOf(ReadinessResponse, reply.json())).toEqual([])
  })

  test('/readyz adds remarks to the message of the event log and keeps its status', async () => {
    const app = await appWith({ eventLogRemarks: () => ['Partition 3 is damaged.', 'Partition 4 is damaged.'] })
    const reply = await app.inject({ url: '/readyz' })
    expect(reply.statusCode).toBe(200)
    expect(reply.json().checks).toEqual({
      database: { status: 'healthy', message: 'The database answers.' },
      event_log: {
        status: 'healthy',
        message: 'The event log answers. Partition 3 is damaged. Partition 4 is damaged.',
      },
    })
  })

  test.each([
    ['hangs', () => new Promise<boolean>(() => {})],
    ['fails', async () => false],
    ['throws', () => Promise.reject(new Error('gone'))],
  ])('/readyz returns 503 if a dependency %s, and the response names the dependency', async (_how, database) => {
    const reply = await (await appWith({ checks: { database, event_log: ready } })).inject({ url: '/readyz' })
    expect(reply.statusCode).toBe(503)
    expect(reply.json()).toMatchObject({
      status: 'unhealthy',
      checks: { database: { status: 'unhealthy' }, event_log: { status: 'healthy' } },
    })
    expect(faultsOf(ReadinessResponse, reply.json())).toEqual([])
  })

  test('/readyz reports a dependency that the process does not use as healthy', async () => {
    const reply = await (await appWith({ checks: { database: null, event_log: ready } })).inject({ url: '/readyz' })
    expect(reply.statusCode).toBe(200)
    expect(reply.json().checks.database).toEqual({
      status: 'healthy',
      message: 'The database is not used by this process.',
    })
    expect(faultsOf(ReadinessResponse, reply.json())).toEqual([])
  })

  test('/readyz reports an AI system that refuses calls, and returns 200', async () => {
    const aiSystem = { status: 'unhealthy', message: 'The AI system refuses every call with status 401.' } as const
    const reply = await (await appWith({ aiSystem: () => aiSystem })).inject({ url: '/readyz' })
    expect([reply.statusCode, reply.json().status]).toEqual([200, 'healthy'])
    expect(reply.json().checks.ai_system).toEqual(aiSystem)
    expect(faultsOf(ReadinessResponse, reply.json())).toEqual([])
  })

  test('/readyz returns 503 while the process is starting', async () => {
    const app = await appWith({})
    app.hold()
    const held = await app.inject({ url: '/readyz' })
    expect(held.statusCode).toBe(503)
    expect(held.json().checks.database).toEqual({ status: 'unhealthy', message: 'The process is starting.' })
    app.serve()
    expect((await app.inject({ url: '/readyz' })).statusCode).toBe(200)
  })

  test('/readyz returns 503 while the process is stopping', async () => {
    const reply = await (await appWith({ isStopping: () => true })).inject({ url: '/readyz' })
    expect([reply.statusCode, reply.json().status]).toEqual([503, 'unhealthy'])
    expect(faultsOf(ReadinessResponse, reply.json())).toEqual([])
  })

  test('concurrent /readyz requests share one check of a hanging dependency, which can recover', async () => {
    let calls = 0
    const gate = Promise.withResolvers<boolean>()
    const database = () => {
      calls += 1
      return calls === 1 ? gate.promise : ready()
    }
    const app = await appWith({ checks: { database, event_log: ready } })
    const statuses = await Promise.all([1, 2, 3].map(async () => (await app.inject({ url: '/readyz' })).statusCode))
    expect([statuses, calls]).toEqual([[503, 503, 503], 1])
    gate.resolve(true)
    await gate.promise
    expect((await app.inject({ url: '/readyz' })).statusCode).toBe(200)
  })
})
