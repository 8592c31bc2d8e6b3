import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import type { IdempotencyRecord } from '#schemas/http/idempotency.ts'
import type { JobListResponse } from '#schemas/http/job.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Guard } from '#shared/http/guard.ts'
import { addClientRoute } from '#shared/http/route.ts'
import type { JobWatch } from './job-watch.ts'
import { type ListParameters, readListParameters, readWait } from './query-parameters.ts'
import type { JobReading } from './read-job.ts'

type Deps = {
  readonly guard: Guard
  readonly readJob: (clientId: string, jobId: string) => Promise<JobReading | null>
  readonly listJobs: (clientId: string, parameters: ListParameters) => Promise<JobListResponse>
  readonly watch: JobWatch
  readonly readIdempotencyKey: (clientId: string, key: string) => Promise<IdempotencyRecord | null>
}

type JobRequest = { readonly clientId: string; readonly jobId: string; readonly ifNoneMatch: string | undefined }
type JobVersion = { readonly body: string; readonly etag: string; readonly reading: JobReading }

export const queryRoutes = ({ guard, readJob, listJobs, watch, readIdempotencyKey }: Deps) =>
  async function routes(app: FastifyInstance): Promise<void> {
    // Draining waits for open requests, and a long poll can take 30 s. End all long polls immediately.
    app.onDrain(() => watch.stop())

    addClientRoute(app, contracts.listJobs, { guard }, ({ request, client }) =>
      listJobs(client.clientId, readListParameters(request.query)),
    )

    addClientRoute(app, contracts.readJob, { guard }, async ({ request, reply, client }) => {
      const waitSeconds = readWait(request.query)
      const wanted: JobRequest = {
        clientId: client.clientId,
        jobId: request.params.job_id.toLowerCase(),
        ifNoneMatch: request.headers['if-none-match'],
      }
      const current = await read(wanted)
      const version = waitSeconds === 0 ? current : await waitForChange(wanted, current, pollSignal(reply, waitSeconds))
      return sendJob(reply, wanted, version)
    })

    addClientRoute(app, contracts.readIdempotencyKey, { guard }, async ({ request, client }) => {
      const record = await readIdempotencyKey(client.clientId, request.params.key)
      if (record === null) throw new ServiceError('idempotency_key_not_found')
      return record
    })

    async function read({ clientId, jobId }: JobRequest): Promise<JobVersion> {
      const reading = await readJob(clientId, jobId)
      if (reading === null) throw new ServiceError('job_not_found')
      const body = JSON.stringify(reading.job)
      return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"`, reading }
    }

    /** Compares ETags after each change of the document, because the body can still be the same. */
    async function waitForChange(wanted: JobRequest, first: JobVersion, signal: AbortSignal): Promise<JobVersion> {
      if (wanted.ifNoneMatch !== undefined && !matchesEtag(wanted.ifNoneMatch, first.etag)) return first
      let current = first
      while (current.etag === first.etag && current.reading.job.completed_at === null && !signal.aborted) {
        const isChanged = await watch.changed({ ...wanted, applied: current.reading.applied }, signal)
        current = await read(wanted)
        if (!isChanged) break
      }
      return current
    }
  }

function pollSignal(reply: FastifyReply, seconds: number): AbortSignal {
  const disconnected = new AbortController()
  reply.raw.once('close', () => disconnected.abort())
  return AbortSignal.any([disconnected.signal, AbortSignal.timeout(seconds * 1_000)])
}

function sendJob(reply: FastifyReply, { ifNoneMatch }: JobRequest, { body, etag }: JobVersion): FastifyReply {
  reply.header('etag', etag)
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

/** Weak comparison (RFC 9110 §13.1.2): ignores `W/`. `*` matches every existing job. */
const matchesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
