import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorCodes } from '#schemas/errors.ts'
import { createMemoryApp, type MemoryApp } from '#test/support/system/memory-app.ts'

const registered: { readonly method: string; readonly url: string }[] = []
let memory: MemoryApp

beforeAll(async () => {
  memory = await createMemoryApp({
    onApp: (app) => {
      app.addHook('onRoute', ({ method, url }) => {
        registered.push(...[method].flat().map((one) => ({ method: one, url })))
      })
    },
  })
})
afterAll(() => memory.app.close())

const get = (url: string, headers: Record<string, string> = {}) => memory.app.inject({ url, headers })
const pages = ['/docs', '/docs/errors', '/docs/events']
const documentationUrls = ['/', ...pages, '/docs/scalar.js', '/docs/start.js', '/openapi.json', '/asyncapi.json']

describe('the OpenAPI document', () => {
  test('is the generated file, unchanged', async () => {
    const reply = await get('/openapi.json')
    expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(reply.body).toBe(readFileSync('schemas/generated/openapi.json', 'utf8'))
  })

  test('has exactly the registered routes', async () => {
    const { paths } = (await get('/openapi.json')).json()
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(Object(operations)).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      ),
    )
    const routes = registered
      .filter(({ method, url }) => method !== 'HEAD' && !documentationUrls.includes(url))
      .map(({ method, url }) => `${method} ${url}`)
    expect(routes.toSorted()).toEqual(described.toSorted())
    for (const url of documentationUrls) expect(registered, url).toContainEqual({ method: 'GET', url })
  })

  test('has an example of every response body', async () => {
    const { paths } = (await get('/openapi.json')).json()
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(Object(operations))) {
        for (const [status, answer] of Object.entries(Object(operation).responses)) {
          if (status === '304') continue // no body
          const media = Object.values(Object(answer).content ?? {})
          const examples = media.flatMap((one) => Object.keys(Object(one).examples ?? {}))
          expect(examples, `${method} ${path} ${status}`).not.toEqual([])
        }
      }
    }
  })
})

describe('GET /', () => {
  test.each(['text/html', 'application/json'])(
    'redirects a client that accepts %s to the documentation',
    async (accept) => {
      const reply = await get('/', { accept })
      expect([reply.statusCode, reply.headers.location]).toEqual([302, '/docs'])
    },
  )

  test('rejects another method with 405', async () => {
    const reply = await memory.app.inject({ method: 'POST', url: '/' })
    expect([reply.statusCode, reply.headers.allow]).toEqual([405, 'GET, HEAD'])
    expect(reply.json()).toMatchObject({ error: 'method_not_allowed' })
  })
})

describe('the pages', () => {
  test.each(errorCodes)('the errors page has one section for %s', async (code) => {
    const reply = await get(`/docs/errors#${code}`)
    expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(reply.body.split(`<h2 id="${code}">${code}</h2>`)).toHaveLength(2)
  })

  test.each(pages)('%s loads only resources of this host', async (page) => {
    const { headers, body } = await get(page)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/)
    expect(body).not.toMatch(/<script(?![^>]* src=)|\son\w+=/)
    const loaded = [...body.matchAll(/<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"/g)].flatMap(
      ([, url]) => url ?? [],
    )
    for (const url of loaded.filter((it) => it !== 'data:,')) {
      expect(url).toMatch(/^\/docs\//)
      expect((await get(url)).statusCode, url).toBe(200)
    }
  })

  test('the Scalar script is compressed for clients that accept gzip', async () => {
    const plain = await get('/docs/scalar.js')
    const gzipped = await get('/docs/scalar.js', { 'accept-encoding': 'br, gzip' })
    expect([plain.headers['content-encoding'], gzipped.headers['content-encoding']]).toEqual([undefined, 'gzip'])
    expect(gunzipSync(gzipped.rawPayload).equals(plain.rawPayload)).toBe(true)
    expect(plain.body).toContain('createApiReference')
  })
})
