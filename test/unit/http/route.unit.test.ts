import type { RouteOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractList, contracts } from '#schemas/http/contracts.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import { createHttpApp } from '#shared/http/http-app.ts'
import { addClientRoute, addPublicRoute } from '#shared/http/route.ts'
import type { ApiClient } from '#shared/ports/api-clients.ts'
import { clientSettings } from '#test/contract/api-clients.ts'
import { silentLog } from '#test/support/silent-log.ts'
import { createMemoryApp, type MemoryApp } from '#test/support/system/memory-app.ts'

const nameOf = ({ method, url }: Pick<RouteOptions, 'method' | 'url'>) => `${method} ${url}`

describe('the registered routes', () => {
  const registered = new Map<string, RouteOptions>()
  let memory: MemoryApp
  beforeAll(async () => {
    memory = await createMemoryApp({
      onApp: (app) => app.addHook('onRoute', (route) => void registered.set(nameOf(route), route)),
    })
  })
  afterAll(() => memory.app.close())

  /** The documentation has no contract. Fastify adds HEAD to every GET. */
  const hasNoContract = (name: string) => /^HEAD |^GET \/(?:docs.*|openapi\.json|asyncapi\.json)?$/.test(name)

  test('are exactly the contracts and the documentation', () => {
    const routes = [...registered.keys()].filter((name) => !hasNoContract(name))
    expect(routes.toSorted()).toEqual(contractList.map(nameOf).toSorted())
  })

  test.each(contractList.map((contract): [string, Contract] => [nameOf(contract), contract]))(
    '%s has the request and response schemas of its contract',
    (name, { params, query, headers, body, responses }) => {
      const schema = registered.get(name)?.schema
      expect(schema?.params).toBe(params)
      expect(schema?.querystring).toBe(query)
      expect(schema?.headers).toBe(headers)
      expect(schema?.body).toBe(body?.schema)
      const answers = Object.entries(responses).map(([status, response]) => [status, response.schema])
      expect(schema?.response).toEqual(Object.fromEntries(answers))
    },
  )

  test.each(contractList.map((contract): [string, Contract] => [nameOf(contract), contract]))(
    '%s requires an API key with the permission of its contract',
    async (name, { method, url, permission }) => {
      const own = await createMemoryApp({ permissions: permission === null ? [] : [permission] })
      const others = await createMemoryApp({ permissions: [] })
      const path = url.replace(':job_id', '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b').replace(':key', 'a')
      const headers = { 'content-type': 'application/json' }
      const send = (app: MemoryApp, authorization: string) =>
        app.app.inject({ method, url: path, headers: { ...headers, authorization } })
      const statuses = [
        (await send(own, 'Bearer unknown')).statusCode,
        (await send(others, `Bearer ${others.apiKey}`)).statusCode,
        (await send(own, `Bearer ${own.apiKey}`)).statusCode,
      ]
      expect(statuses.slice(0, 2), name).toEqual(permission === null ? [200, 200] : [401, 403])
      expect([401, 403], name).not.toContain(statuses[2])
      await Promise.all([own.app.close(), others.app.close()])
    },
  )
})

const client: ApiClient = { ...clientSettings, clientId: 'cl_1' }

describe('a client route', () => {
  test('runs the checks in the documented order and then calls the handler with the client', async () => {
    const app = await createHttpApp({ log: silentLog })
    const steps: string[] = []
    const step = (name: string) => () => void steps.push(name)
    const guard = async (_request: unknown, _reply: unknown, permission: string) => {
      steps.push(`guard ${permission}`)
      return client
    }
    const checks = { beforeGuard: step('beforeGuard'), beforeBody: step('beforeBody'), afterBody: step('afterBody') }
    addClientRoute(app, contracts.readJob, { guard, checks }, async (exchange) => exchange.client.clientId)
    const get = (jobId: string, correlationId: string) =>
      app.inject({ url: `/v1/contacts/import/${jobId}`, headers: { 'x-correlation-id': correlationId } })
    const uuid = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
    expect((await get('7', 'none')).json()).toMatchObject({ error: 'header_invalid' })
    expect(steps.splice(0)).toEqual(['beforeGuard', 'guard jobs:read', 'beforeBody', 'afterBody'])
    expect((await get('7', uuid)).json()).toMatchObject({
      error: 'validation_failed',
      details: [{ pointer: '/job_id', code: 'invalid_format' }],
    })
    expect((await get(uuid.toUpperCase(), uuid)).body).toBe('cl_1')
    await app.close()
  })

  test('runs no later check and no handler after the guard has rejected the request', async () => {
    const app = await createHttpApp({ log: silentLog })
    const guard = (): Promise<ApiClient> => Promise.reject(new ServiceError('permission_denied'))
    const unreachable = () => {
      throw new Error('reached')
    }
    const checks = { beforeBody: unreachable, afterBody: unreachable }
    addClientRoute(app, contracts.listJobs, { guard, checks }, unreachable)
    expect((await app.inject({ url: '/v1/contacts/import' })).statusCode).toBe(403)
    await app.close()
  })
})

test('a response body is the result of JSON.stringify, including members that are not in its schema', async () => {
  const app = await createHttpApp({ log: silentLog })
  const body = { status: 'ok', surplus: '\ud800 \u2028', nothing: null, number: 1e21 }
  addPublicRoute(app, contracts.readLiveness, async () => body)
  expect((await app.inject({ url: '/healthz' })).body).toBe(JSON.stringify(body))
  await app.close()
})
