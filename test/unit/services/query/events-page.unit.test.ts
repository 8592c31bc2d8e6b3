import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import { docsRoutes } from '#services/query/docs-routes.ts'

let app: FastifyInstance
beforeAll(async () => {
  app = fastify()
  await app.register(docsRoutes())
})
afterAll(() => app.close())

test('the events page has every topic and event, no script, and no broken link', async () => {
  const { statusCode, headers, body } = await app.inject('/docs/events')
  expect(statusCode).toBe(200)
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(headers['content-security-policy']).toMatch(/default-src 'none'/)
  expect(body).not.toMatch(/<script/)
  for (const topic of Object.values<Topic>(topics)) {
    expect(body).toContain(`>${topic.name}</h2>`)
    for (const { type } of topic.events) expect(body).toContain(`>${type}</h2>`)
  }
  const ids = new Set([...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const targets = [...body.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target)
  expect(targets.length).toBeGreaterThan(10)
  expect(targets.filter((target) => !ids.has(target))).toEqual([])
})

test('the AsyncAPI document is served with all topics', async () => {
  const { statusCode, body } = await app.inject('/asyncapi.json')
  expect(statusCode).toBe(200)
  const { asyncapi, channels } = JSON.parse(body)
  expect([asyncapi, Object.keys(channels)]).toEqual(['3.0.0', Object.keys(topics)])
})
