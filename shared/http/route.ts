import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Contract, Permission } from '#schemas/http/contracts.ts'
import { isUuid } from '#schemas/primitives.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { ApiClient } from '#shared/ports/api-clients.ts'
import type { Guard } from './guard.ts'
import { type HeldBytes, holdBody, holdChunks, holdResponse } from './held-bytes.ts'

type ClientContract = Contract & { readonly permission: Permission }
type PublicContract = Contract & { readonly permission: null }

type RouteTypes<C extends Contract> = {
  Params: C extends { readonly params: infer Params extends TObject } ? Static<Params> : unknown
  /** Fastify parses a repeated parameter to an array. */
  Querystring: Readonly<Record<string, unknown>>
}

export type ClientExchange<C extends Contract = Contract> = {
  readonly request: FastifyRequest<RouteTypes<C>>
  readonly reply: FastifyReply
  readonly client: ApiClient
  /** The memory that this request holds. */
  readonly held: HeldBytes
}

type Handler<C extends Contract> = (exchange: ClientExchange<C>) => Promise<unknown>

type ClientRouteOptions = {
  readonly guard: Guard
  readonly bodyLimit?: number // bytes; default: the limit of the app
  /** A check throws to reject the request. */
  readonly checks?: {
    readonly beforeGuard?: (request: FastifyRequest) => void
    readonly beforeBody?: (request: FastifyRequest) => void
    readonly afterBody?: (request: FastifyRequest, client: ApiClient) => void
  }
}

type Admission = { readonly client: ApiClient; readonly held: HeldBytes }

/**
 * Registers an endpoint that requires an API key. Order of the checks: `beforeGuard`, the API key and its permission,
 * `beforeBody`, the byte budget, the body limit, `afterBody`, X-Correlation-ID, and the path parameters. The first
 * failing check decides.
 */
export function addClientRoute<const C extends ClientContract>(
  app: FastifyInstance,
  contract: C,
  { guard, bodyLimit, checks = {} }: ClientRouteOptions,
  handler: Handler<C>,
): void {
  const admissions = new WeakMap<object, Admission>()
  const admissionOf = (request: object): Admission => {
    const admission = admissions.get(request)
    if (admission === undefined) throw new ServiceError('unauthorized')
    return admission
  }

  app.route<RouteTypes<C>>({
    ...registrationOf(contract),
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    async onRequest(request, reply) {
      checks.beforeGuard?.(request)
      const client = await guard(request, reply, contract.permission)
      checks.beforeBody?.(request)
      const held = holdBody(app.byteBudget.open(client.clientId), request, reply)
      admissions.set(request, { client, held })
    },
    preParsing(request, _reply, payload, done) {
      done(null, holdChunks(admissionOf(request).held, request, payload))
    },
    async preValidation(request) {
      checks.afterBody?.(request, admissionOf(request).client)
      const correlationId = request.headers['x-correlation-id']
      if (correlationId !== undefined && !isUuid(String(correlationId))) throw new ServiceError('header_invalid')
    },
    handler: (request, reply) => handler({ request, reply, ...admissionOf(request) }),
    onSend(request, _reply, payload, done) {
      const admission = admissions.get(request)
      const refusal = admission === undefined ? null : holdResponse(admission.held, payload)
      if (refusal === null) done(null, payload)
      else done(refusal)
    },
  })
}

export function addPublicRoute(
  app: FastifyInstance,
  contract: PublicContract,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  app.route({ ...registrationOf(contract), handler })
}

/**
 * Fastify validates only path parameters: handlers validate query, headers and body and throw specific error codes.
 * Responses use JSON.stringify, because fast-json-stringify drops members that are not in the schema.
 */
const registrationOf = ({ method, url, params, query, headers, body, responses }: Contract) =>
  ({
    method,
    url,
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(headers && { headers }),
      ...(body && { body: body.schema }),
      response: Object.fromEntries(Object.entries(responses).map(([status, { schema }]) => [status, schema])),
    },
    validatorCompiler: ({ httpPart }) => (params && httpPart === 'params' ? validatorOf(params) : () => true),
    serializerCompiler: () => JSON.stringify,
  }) satisfies Omit<RouteOptions, 'handler'>

/** Reports only the first fault: a value that is not a UUID violates both `format` and `pattern` of its schema. */
function validatorOf(schema: TSchema) {
  const compiled = TypeCompiler.Compile(schema)
  return (value: unknown) => {
    if (compiled.Check(value)) return true
    const fault = compiled.Errors(value).First()
    return { error: [{ keyword: 'format', instancePath: fault?.path ?? '', schemaPath: '', params: {} }] }
  }
}
