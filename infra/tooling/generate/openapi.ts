import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import { type ErrorCode, errorCodes, errorTable } from '#schemas/errors.ts'
import { type Contract, commonErrors, contractList, type Payload, quotaHeaders } from '#schemas/http/contracts.ts'
import { Problem } from '#schemas/http/problem.ts'
import { extractNamed, isObject, type JsonObject, jsonOf } from './named-schemas.ts'

const interfaceVersion = '1.0.0' // not the version of the service

const retryAfter = { type: 'integer', minimum: 0, description: 'Seconds to wait before repeating the request.' }
const errorHeaders: Partial<Record<ErrorCode, JsonObject>> = {
  unauthorized: { 'WWW-Authenticate': { type: 'string', description: '`Bearer`.' } },
  request_in_progress: { 'Retry-After': retryAfter },
  rate_limit_exceeded: { 'Retry-After': retryAfter },
  service_unavailable: { 'Retry-After': retryAfter },
}

function problemExample(code: ErrorCode): Problem {
  const { status, title, message } = errorTable[code]
  return {
    type: `/docs/errors#${code}`,
    title: title.en,
    status,
    error: code,
    message: message.en,
    correlation_id: '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34',
    ...(code === 'idempotency_conflict' && { existing_created_at: '2026-01-31T09:30:00.000Z' }),
    ...(code === 'validation_failed' && {
      details: [{ pointer: '/3/phone', code: 'required', message: 'This member is required.' }],
    }),
  }
}

function errorResponses(contract: Contract, schemas: Map<string, JsonObject>): Record<string, JsonObject> {
  const codes: readonly ErrorCode[] = [...contract.errors, ...commonErrors]
  const needsClient = (code: ErrorCode) => contract.permission !== null && contract.errors.includes(code)
  const byStatus = Map.groupBy(
    errorCodes.filter((code) => codes.includes(code)),
    (code) => errorTable[code].status,
  )
  return Object.fromEntries(
    [...byStatus].map(([status, sameStatus]) => [
      String(status),
      {
        description: sameStatus.map((code) => `\`${code}\`: ${errorTable[code].title.en}.`).join(' '),
        headers: Object.assign(
          {},
          ...sameStatus.map((code) => errorHeaders[code] ?? {}),
          sameStatus.some(needsClient) ? jsonOf(quotaHeaders) : {},
        ),
        content: {
          'application/problem+json': {
            schema: extractNamed(Problem, reference, schemas),
            examples: Object.fromEntries(
              sameStatus.map((code) => [code, { summary: errorTable[code].title.en, value: problemExample(code) }]),
            ),
          },
        },
      },
    ]),
  )
}

const reference = (name: string): string => `${name}#`

/** The route schema for @fastify/swagger. Adds every named schema to `schemas`. */
function routeSchema(contract: Contract, schemas: Map<string, JsonObject>): JsonObject {
  const content = ({ schema, examples }: Payload) => ({
    'application/json': {
      schema: extractNamed(schema, reference, schemas),
      examples: jsonOf(examples),
    },
  })
  const responses = Object.entries(contract.responses).map(([status, response]) => [
    status,
    {
      description: response.description,
      ...(response.headers && {
        headers: Object.fromEntries(Object.entries(response.headers).map(([name, schema]) => [name, jsonOf(schema)])),
      }),
      content: content(response),
    },
  ])
  return {
    operationId: contract.operationId,
    summary: contract.summary,
    description: contract.description,
    tags: [contract.permission === null ? 'health' : 'import'],
    ...(contract.permission !== null && { security: [{ apiKey: [] }], 'x-permission': contract.permission }),
    ...(contract.params && { params: jsonOf(contract.params) }),
    ...(contract.query && { querystring: jsonOf(contract.query) }),
    ...(contract.headers && { headers: jsonOf(contract.headers) }),
    ...(contract.body && { body: { content: content(contract.body) } }),
    response: {
      ...errorResponses(contract, schemas),
      ...Object.fromEntries(responses),
      ...Object.fromEntries(
        Object.entries(contract.bodiless ?? {}).map(([status, description]) => [status, { type: 'null', description }]),
      ),
    },
  }
}

export async function openapiDocument(): Promise<JsonObject> {
  const schemas = new Map<string, JsonObject>()
  const routes = contractList.map((contract) => ({ contract, schema: routeSchema(contract, schemas) }))
  const app = await swaggerApp()
  for (const [name, schema] of [...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    app.addSchema({ $id: name, ...schema })
  }
  for (const { contract, schema } of routes) {
    app.route({ method: contract.method, url: contract.url, schema, handler: () => null })
  }
  await app.ready()
  const document = jsonOf(app.swagger())
  await app.close()
  addRequestExamples(document)
  return document
}

/** Adds the description and examples of request bodies, which @fastify/swagger ignores. */
function addRequestExamples(document: JsonObject): void {
  for (const { method, url, body } of contractList) {
    if (body === undefined) continue
    const requestBody = memberAt(document, 'paths', url, method.toLowerCase(), 'requestBody')
    requestBody.description = body.description
    memberAt(requestBody, 'content', 'application/json').examples = jsonOf(body.examples)
  }
}

function memberAt(start: JsonObject, ...path: readonly string[]): JsonObject {
  return path.reduce((object, name) => {
    const member = object[name]
    if (!isObject(member)) throw new Error(`The document has no object at ${path.join(' → ')}.`)
    return member
  }, start)
}

async function swaggerApp(): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Contact import service',
        version: interfaceVersion,
        description:
          'Imports contacts over HTTP, normalizes their phone numbers and delivers the valid contacts to the AI system. ' +
          'All errors have the same format. The [error reference](/docs/errors) lists the stable error codes.',
      },
      tags: [
        { name: 'import', description: 'Import contacts and follow their delivery.' },
        { name: 'health', description: 'For operators of the service. No API key is required.' },
      ],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'An API key. An administrator issues it.' },
        },
      },
    },
    refResolver: {
      buildLocalReference: (schema, _uri, _fragment, index) => String(schema.$id ?? `Unnamed${index}`),
    },
  })
  return app
}
