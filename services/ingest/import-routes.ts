import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import { dryRunMessages } from '#schemas/http/import.ts'
import { phoneMetadataVersion } from '#shared/domain/phone.ts'
import { negotiateLanguage } from '#shared/errors/language.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Guard } from '#shared/http/guard.ts'
import { addClientRoute, type ClientExchange } from '#shared/http/route.ts'
import type { ApiClient } from '#shared/ports/api-clients.ts'
import type { AcceptOutcome, ImportRequest } from './accept-import.ts'
import type { Refused } from './planning/plan.ts'
import type { Planner } from './planning/planner.ts'
import { decodeBody, isDryRun, readIdempotencyKey, requireJson } from './read-request.ts'
import type { VerifySignature } from './verify-signature.ts'

type Deps = {
  readonly guard: Guard
  readonly verifySignature: VerifySignature
  readonly acceptImport: (request: ImportRequest) => Promise<AcceptOutcome>
  readonly planner: Planner
  readonly settings: {
    readonly maxBodyBytes: number
    readonly maxContacts: number
    readonly chunkSize: number
    readonly defaultRegion: string
  }
}

const json = 'application/json; charset=utf-8'

const retryAfterSeconds = { inProgress: 1, overloaded: 1, uncertain: 5 } as const

export const importRoutes = (deps: Deps) =>
  async function routes(app: FastifyInstance): Promise<void> {
    const { guard, verifySignature, settings } = deps

    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    const checks = {
      beforeGuard: ({ headers }: FastifyRequest) => requireJson(headers),
      beforeBody: ({ headers }: FastifyRequest) => {
        if (Number(headers['content-length'] ?? 0) > settings.maxBodyBytes) throw new ServiceError('payload_too_large')
      },
      afterBody: ({ headers, body }: FastifyRequest, { signingSecrets }: ApiClient) => {
        if (signingSecrets.length > 0) verifySignature(signingSecrets, headers, bytesOf(body))
      },
    }
    const options = { guard, checks, bodyLimit: settings.maxBodyBytes }
    addClientRoute(app, contracts.importContacts, options, async ({ request, reply, client, held }) => {
      const key = readIdempotencyKey(request.headers)
      const dryRun = isDryRun(request.headers)
      const encoding = request.headers['content-encoding']
      const body = await decodeBody(bytesOf(request.body), {
        encoding,
        limit: settings.maxBodyBytes,
        reserve: held.add,
      })
      const exchange = { request, reply, client, held, body }
      return dryRun ? answerDryRun(exchange, deps) : answerImport({ ...exchange, key }, deps)
    })
  }

const bytesOf = (body: unknown): Uint8Array => (body instanceof Uint8Array ? body : new Uint8Array())

type Exchange = ClientExchange & { readonly body: Uint8Array }

const planInputs = (client: ApiClient, settings: Deps['settings']) => ({
  chunkSize: client.chunkSize ?? settings.chunkSize,
  region: client.region ?? settings.defaultRegion,
  phoneMetadataVersion,
})

async function answerImport(exchange: Exchange & { readonly key: string }, deps: Deps): Promise<FastifyReply> {
  const { request, reply, client, body, key } = exchange
  const outcome = await deps.acceptImport({
    clientId: client.clientId,
    key,
    payloadHash: createHash('sha256').update(body).digest('hex'),
    body,
    correlationId: request.correlationId,
    plan: planInputs(client, deps.settings),
  })
  switch (outcome.is) {
    case 'accepted':
      if (outcome.replayed) reply.header('idempotent-replayed', 'true')
      return reply
        .code(202)
        .header('location', contracts.readJob.url.replace(':job_id', outcome.jobId))
        .type(json)
        .send(outcome.response)
    case 'conflict':
      throw new ServiceError('idempotency_conflict', { existingCreatedAt: outcome.existingCreatedAt })
    case 'in_progress':
      throw new ServiceError('request_in_progress', { retryAfterSeconds: retryAfterSeconds.inProgress })
    case 'overloaded':
      throw new ServiceError('service_unavailable', { retryAfterSeconds: retryAfterSeconds.overloaded })
    case 'uncertain':
      throw new ServiceError('service_unavailable', { retryAfterSeconds: retryAfterSeconds.uncertain })
    case 'refused':
      throw refusal(outcome)
  }
}

async function answerDryRun({ request, reply, client, body }: Exchange, deps: Deps): Promise<FastifyReply> {
  const language = negotiateLanguage(request.headers['accept-language'], client.locale ?? 'en')
  const { chunkSize, region } = planInputs(client, deps.settings)
  const outcome = await deps.planner.plan({
    body,
    maxContacts: deps.settings.maxContacts,
    chunkSize,
    region,
    purpose: {
      is: 'dry_run',
      clientId: client.clientId,
      correlationId: request.correlationId,
      message: dryRunMessages[language],
    },
  })
  switch (outcome.is) {
    case 'planned':
      return reply.code(200).header('content-language', language).type(json).send(outcome.response)
    case 'overloaded':
      throw new ServiceError('service_unavailable', { retryAfterSeconds: retryAfterSeconds.overloaded })
    case 'refused':
      throw refusal(outcome)
  }
}

const refusal = (refused: Refused): ServiceError =>
  refused.error === 'validation_failed'
    ? new ServiceError('validation_failed', { details: refused.faults })
    : new ServiceError(refused.error)
