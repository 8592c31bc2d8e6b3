import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { JobListResponse } from '#schemas/http/job.ts'
import { toJobSummary } from '#shared/domain/projections/import-job.ts'
import type { ImportJobReader, JobListing, JobPlace } from '#shared/ports/import-jobs.ts'
import { type ListParameters, parameterInvalid } from './query-parameters.ts'

type Deps = { readonly jobs: Pick<ImportJobReader, 'list'>; readonly cursors: JobCursors }

/**
 * Returns a page of the client's jobs, newest first. A cursor names the last job of a page, not a count, so new jobs
 * cause neither gaps nor repeats. Throws `validation_failed` for a cursor that this service did not issue.
 */
export const createListJobs = ({ jobs, cursors }: Deps) =>
  async function listJobs(clientId: string, { limit, cursor, ...filter }: ListParameters): Promise<JobListResponse> {
    const scope = { clientId, ...filter }
    const after = cursor === null ? null : cursors.read(scope, cursor)
    if (cursor !== null && after === null) throw parameterInvalid('cursor')
    // Ask for one job more than the page holds, to know whether there is a next page.
    const found = await jobs.list({ ...scope, after, limit: limit + 1 })
    const page = found.slice(0, limit).flatMap((document) => toJobSummary(document) ?? [])
    const last = page.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return {
      jobs: page,
      next_cursor: hasMore ? cursors.write(scope, { createdAt: last.created_at, jobId: last.job_id }) : null,
    }
  }

/** The client and filter of a list. A cursor is valid only for the scope that it was issued for. */
type CursorScope = Pick<JobListing, 'clientId' | 'status' | 'createdAfter'>

type JobCursors = {
  write(scope: CursorScope, place: JobPlace): string
  /** Null when `write` never returned this text for this scope. */
  read(scope: CursorScope, cursor: string): JobPlace | null
}

/**
 * Opaque positions in a list, each with a MAC under the secret. Without a secret the MAC still detects damaged and
 * misplaced cursors. A forged cursor gives no access, because jobs are always looked up by client.
 */
export function createJobCursors({ secret }: { readonly secret: Uint8Array | null }): JobCursors {
  const key = createHash('sha256')
    .update('job cursors')
    .update(secret ?? new Uint8Array())
    .digest()

  function macOf({ clientId, status, createdAfter }: CursorScope, place: string): Buffer {
    const text = JSON.stringify([clientId, status, createdAfter, place])
    return createHmac('sha256', key).update(text).digest().subarray(0, 16)
  }

  return {
    write(scope, { createdAt, jobId }) {
      const place = Buffer.from(JSON.stringify([createdAt, jobId])).toString('base64url')
      return `${place}.${macOf(scope, place).toString('base64url')}`
    },
    read(scope, cursor) {
      const [place = '', mac = '', ...rest] = cursor.split('.')
      const given = Buffer.from(mac, 'base64url')
      const expected = macOf(scope, place)
      const isAuthentic = given.length === expected.length && timingSafeEqual(given, expected) && rest.length === 0
      // Several base64url texts decode to the same bytes; accept only the text that was issued.
      if (!isAuthentic || given.toString('base64url') !== mac) return null
      const [createdAt, jobId]: string[] = JSON.parse(Buffer.from(place, 'base64url').toString())
      return createdAt === undefined || jobId === undefined ? null : { createdAt, jobId }
    },
  }
}
