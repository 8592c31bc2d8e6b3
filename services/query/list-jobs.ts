import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { JobListResponse } from '#schemas/http/job.ts'
import { toJobSummary } from '#shared/domain/projections/import-job.ts'
import type { ImportJobReader, JobListing, JobPlace } from '#shared/ports/import-jobs.ts'
import { type ListParameters, parameterInvalid } from './query-parameters.ts'

type Deps = { readonly jobs: Pick<ImportJobReader, 'list'>; readonly cursors: JobCursors }

/**
 * Returns a page of the client's jobs, newest first. A cursor contains the last job of a page, not an offset, so new jobs
 * cause neither gaps nor repeats. Throws `validation_failed` for a cursor that this service did not issue.
 */
export const createListJobs = ({ jobs, cursors }: Deps) =>
  async function listJobs(clientId: string, { limit, cursor, ...filter }: ListParameters): Promise<JobListResponse> {
    const scope = { clientId, ...filter }
    const after = cursor === null ? null : cursors.read(scope, cursor)
    if (cursor !== null && after === null) throw parameterInvalid('cursor')
    const found = await jobs.list({ ...scope, after, limit: limit + 1 }) // one more, to detect a next page
    const page = found.slice(0, limit).flatMap((document) => toJobSummary(document) ?? [])
    const last = page.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return {
      jobs: page,
      next_cursor: hasMore ? cursors.write(scope, { createdAt: last.created_at, jobId: last.job_id }) : null,
    }
  }

/** A cursor is valid only for the client and filter that it was issued for. */
type CursorScope = Pick<JobListing, 'clientId' | 'status' | 'createdAfter'>

type JobCursors = {
  write(scope: CursorScope, place: JobPlace): string
  /** Returns null if `write` did not create the cursor for this scope. */
  read(scope: CursorScope, cursor: string): JobPlace | null
}

/**
 * Cursors are signed with an HMAC. Without a secret, the HMAC still detects damaged cursors and cursors of another scope.
 * A forged cursor gives no access to other jobs, because `list` filters by client.
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
      // Several base64url strings decode to the same bytes. Accept only the issued string.
      if (!isAuthentic || given.toString('base64url') !== mac) return null
      const [createdAt, jobId]: string[] = JSON.parse(Buffer.from(place, 'base64url').toString())
      return createdAt === undefined || jobId === undefined ? null : { createdAt, jobId }
    },
  }
}
