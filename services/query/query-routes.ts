import type { FastifyInstance } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import type { IdempotencyRecord } from '#schemas/http/idempotency.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Guard } from '#shared/http/guard.ts'
import { requireCorrelationId } from '#shared/http/request-headers.ts'
import { type JobRoutesDeps, jobRoutes } from './job-routes.ts'

type Deps = Omit<JobRoutesDeps, 'guard'> & {
  readonly guard: Guard
  readonly readIdempotencyKey: (clientId: string, key: string) => Promise<IdempotencyRecord | null>
}

/** The endpoints that only read. */
export const queryRoutes = ({ guard, readIdempotencyKey, ...jobs }: Deps) =>
  async function routes(app: FastifyInstance): Promise<void> {
    await app.register(jobRoutes({ guard, ...jobs }))

    app.get<{ Params: { key: string } }>(contracts.readIdempotencyKey.url, async (request, reply) => {
      const client = await guard(request, reply, 'idempotency:read')
      requireCorrelationId(request.headers)
      const record = await readIdempotencyKey(client.clientId, request.params.key)
      if (record === null) throw new ServiceError('idempotency_key_not_found')
      return record
    })
  }
