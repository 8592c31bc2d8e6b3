import { workerTask } from '#shared/runtime/worker-pool.ts'
import { type PackedRecords, packRecords } from './packed-records.ts'
import {
  type DryRunPlanned,
  type DryRunRequest,
  type Planned,
  type PlanRequest,
  planDryRun,
  planRequest,
  type Refusal,
} from './plan-request.ts'

export type PlanTask =
  | { readonly kind: 'plan'; readonly request: PlanRequest }
  | { readonly kind: 'dry_run'; readonly request: DryRunRequest }

export type PackedPlan = Omit<Planned, 'records'> & { readonly records: PackedRecords }
export type PlanAnswer = PackedPlan | DryRunPlanned | Refusal

/** Runs in a worker thread. The event bytes change hands without a copy. */
export const run = workerTask<PlanTask, PlanAnswer>(({ kind, request }) => {
  if (kind === 'dry_run') return { value: planDryRun(request) }
  const planned = planRequest(request)
  if (planned.is !== 'planned') return { value: planned }
  const records = packRecords(planned.records)
  return { value: { ...planned, records }, transfer: [records.bytes] }
})
