import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { markdownPage, type Page, referencePage, scriptUrls, startScript } from './docs-pages.ts'

const compress = promisify(gzip)
const javascript = 'text/javascript; charset=utf-8'
const openapiUrl = '/openapi.json'
const asyncapiUrl = '/asyncapi.json'
const scalarScriptUrl = '/reference/js/scalar.js'

const scriptCacheControl = 'public, max-age=3600' // scripts change only with a release

/** The OpenAPI and AsyncAPI documents and the documentation pages. They require no API key. */
export const docsRoutes = () =>
  async function routes(app: FastifyInstance): Promise<void> {
    const openapi = await generated('openapi.json')
    const errors = markdownPage('Errors of the contact import service', await generated('errors.md'))
    const asyncapi = await generated('asyncapi.json')
    const events = markdownPage('Events of the contact import service', await generated('events.md'))
    const reference = referencePage()
    let bundle: ReturnType<typeof referenceBundle> | undefined

    app.get('/', async (_request, reply) => reply.redirect('/docs', 302))
    app.get(openapiUrl, async (_request, reply) => reply.type('application/json; charset=utf-8').send(openapi))
    app.get('/docs', async (_request, reply) => sendPage(reply, reference))
    app.get('/docs/errors', async (_request, reply) => sendPage(reply, errors))
    app.get(asyncapiUrl, async (_request, reply) => reply.type('application/json; charset=utf-8').send(asyncapi))
    app.get('/docs/events', async (_request, reply) => sendPage(reply, events))
    app.get(scriptUrls.start, async (_request, reply) => reply.type(javascript).send(startScript(openapiUrl)))
    app.get(scriptUrls.bundle, async (request, reply) => {
      bundle ??= referenceBundle()
      const { plain, gzipped } = await bundle
      reply.type(javascript).header('cache-control', scriptCacheControl).header('vary', 'accept-encoding')
      return /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
        ? reply.header('content-encoding', 'gzip').send(gzipped)
        : reply.send(plain)
    })
  }

const generated = (name: string): Promise<string> =>
  readFile(new URL(`../../schemas/generated/${name}`, import.meta.url), 'utf8')

const sendPage = (reply: FastifyReply, { html, contentSecurityPolicy }: Page): FastifyReply =>
  reply
    .header('content-security-policy', contentSecurityPolicy)
    .header('cache-control', 'no-cache')
    .type('text/html; charset=utf-8')
    .send(html)

/**
 * Reads Scalar's script, several megabytes, from a private app: Scalar's Fastify plugin has no other way to get it. The
 * plugin's own page is not used, because the page needs inline scripts.
 */
async function referenceBundle(): Promise<{ readonly plain: string; readonly gzipped: Uint8Array }> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const pluginApp = fastify()
  await pluginApp.register(scalar, { routePrefix: '/reference', configuration: { url: openapiUrl } })
  const { payload, statusCode } = await pluginApp.inject(scalarScriptUrl)
  await pluginApp.close()
  if (statusCode !== 200)
    throw new Error(`Scalar does not serve its script at ${scalarScriptUrl}: status ${statusCode}.`)
  return { plain: payload, gzipped: await compress(payload) }
}
