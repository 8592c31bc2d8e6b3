import { Value } from '@sinclair/typebox/value'
import { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { JobResponse } from '#schemas/http/job.ts'
import { pendingJobResponse, toJobResponse } from '#shared/domain/projections/import-job.ts'
import type { ClaimRecords } from '#shared/ports/idempotency-keys.ts'
import type { AppliedOffsets, ImportJobReader } from '#shared/ports/import-jobs.ts'

type Deps = { readonly jobs: Pick<ImportJobReader, 'find'>; readonly claims: ClaimRecords }

/** `applied` is null while the job has no document. */
export type JobReading = { readonly job: JobResponse; readonly applied: AppliedOffsets | null }

/**
 * Returns null for an unknown job and for a job of another client. Until the projector has applied `ImportAccepted`, the
 * job is read from the idempotency record, because clients can read a job directly after its 202.
 */
export const createReadJob = ({ jobs, claims }: Deps) =>
  async function readJob(clientId: string, jobId: string): Promise<JobReading | null> {
    const document = await jobs.find(jobId)
    const projected = document === null ? null : toJobResponse(document)
    if (document !== null && projected !== null) {
      return document.client_id === clientId ? { job: projected, applied: document.applied } : null
    }
    const claim = await claims.findByJob(clientId, jobId)
    if (claim?.response == null) return null
    const accepted = Value.Parse(ImportAcceptedResponse, JSON.parse(claim.response))
    const job = pendingJobResponse(accepted, claim.plan.chunkSize)
    return job && { job, applied: document?.applied ?? null }
  }
