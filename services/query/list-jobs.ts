import type { JobListResponse } from '#schemas/http/job.ts'
import { toJobSummary } from '#shared/domain/projections/import-job.ts'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import type { JobCursors } from './job-cursor.ts'
import { type ListParameters, refusalOf } from './query-parameters.ts'

type Deps = { readonly jobs: Pick<ImportJobReader, 'list'>; readonly cursors: JobCursors }

/**
 * A page of the client's jobs, newest first. The cursor names the last job of the page and not a number of jobs, so
 * nothing is listed twice or left out when new ones come. Throws `validation_failed` for a cursor that is not ours.
 */
export const createListJobs = ({ jobs, cursors }: Deps) =>
  async function listJobs(clientId: string, { limit, cursor, ...filter }: ListParameters): Promise<JobListResponse> {
    const scope = { clientId, ...filter }
    const after = cursor === null ? null : cursors.read(scope, cursor)
    if (cursor !== null && after === null) throw refusalOf('cursor')
    // One more than asked for tells whether there is another page.
    const found = await jobs.list({ ...scope, after, limit: limit + 1 })
    const page = found.slice(0, limit).flatMap((document) => toJobSummary(document) ?? [])
    const last = page.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return {
      jobs: page,
      next_cursor: hasMore ? cursors.write(scope, { createdAt: last.created_at, jobId: last.job_id }) : null,
    }
  }
