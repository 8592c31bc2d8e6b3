import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { contracts } from '#schemas/http/contracts.ts'
import type { JobListResponse } from '#schemas/http/job.ts'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { Guard } from '#shared/http/guard.ts'
import { isUuid, requireCorrelationId } from '#shared/http/request-headers.ts'
import type { JobWatch } from './job-watch.ts'
import { type ListParameters, type Parameters, readListParameters, readWait, refusalOf } from './query-parameters.ts'
import type { JobReading } from './read-job.ts'

export type JobRoutesDeps = {
  readonly guard: Guard
  readonly readJob: (clientId: string, jobId: string) => Promise<JobReading | null>
  readonly listJobs: (clientId: string, parameters: ListParameters) => Promise<JobListResponse>
  readonly watch: JobWatch
}

type Known = { readonly body: string; readonly etag: string; readonly reading: JobReading }
type Wanted = { readonly clientId: string; readonly jobId: string; readonly ifNoneMatch: string | undefined }

/** The endpoints of jobs. */
export const jobRoutes = ({ guard, readJob, listJobs, watch }: JobRoutesDeps) =>
  async function routes(app: FastifyInstance): Promise<void> {
    // Before the server waits for its requests: these would have it wait for 30 seconds.
    app.onDrain(() => watch.stop())

    app.get<{ Querystring: Parameters }>(contracts.listJobs.url, async (request, reply) => {
      const { clientId } = await guard(request, reply, contracts.listJobs.permission)
      requireCorrelationId(request.headers)
      return await listJobs(clientId, readListParameters(request.query))
    })

    app.get<{ Params: { job_id: string }; Querystring: Parameters }>(contracts.readJob.url, async (request, reply) => {
      const { clientId } = await guard(request, reply, contracts.readJob.permission)
      requireCorrelationId(request.headers)
      if (!isUuid(request.params.job_id)) throw refusalOf('job_id')
      const wait = readWait(request.query)
      const wanted: Wanted = {
        clientId,
        jobId: request.params.job_id.toLowerCase(),
        ifNoneMatch: request.headers['if-none-match'],
      }
      const known = await read(wanted)
      return answer(reply, wanted, wait === 0 ? known : await changed(wanted, known, leaving(reply, wait)))
    })

    async function read({ clientId, jobId }: Wanted): Promise<Known> {
      const reading = await readJob(clientId, jobId)
      if (reading === null) throw new ServiceError('job_not_found')
      const body = JSON.stringify(reading.job)
      return { body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"`, reading }
    }

    /** The document may change where the body does not, so each time it did the body is looked at again. */
    async function changed(wanted: Wanted, first: Known, signal: AbortSignal): Promise<Known> {
      if (wanted.ifNoneMatch !== undefined && !matches(wanted.ifNoneMatch, first.etag)) return first
      let known = first
      while (known.etag === first.etag && known.reading.job.completed_at === null && !signal.aborted) {
        const isChanged = await watch.changed({ ...wanted, applied: known.reading.applied }, signal)
        known = await read(wanted)
        if (!isChanged) break
      }
      return known
    }
  }

/** Aborts when the time is over or the client has left. */
function leaving(reply: FastifyReply, seconds: number): AbortSignal {
  const left = new AbortController()
  reply.raw.once('close', () => left.abort())
  return AbortSignal.any([left.signal, AbortSignal.timeout(seconds * 1_000)])
}

function answer(reply: FastifyReply, { ifNoneMatch }: Wanted, { body, etag }: Known): FastifyReply {
  reply.header('etag', etag)
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag)) return reply.code(304).send()
  return reply.type('application/json; charset=utf-8').send(body)
}

/** Weak comparison (RFC 9110 §13.1.2): `W/` makes no difference, and `*` is any job that exists. */
const matches = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
