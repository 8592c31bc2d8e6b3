import {
  type DryRunPlanned,
  type DryRunRequest,
  type Planned,
  type PlanRequest,
  planDryRun,
  planRequest,
  planScanned,
  type Refusal,
} from './plan-request.ts'

type Overloaded = { readonly is: 'overloaded' }

/** Plans an import, or says why it can't be taken. Overloaded: nothing was done, because too much waits already. */
export interface Planner {
  plan(request: PlanRequest): Promise<Planned | Refusal | Overloaded>
  dryRun(request: DryRunRequest): Promise<DryRunPlanned | Refusal | Overloaded>
}

export type PlanWorkers = Planner

/**
 * Up to here it takes less time at once than on the way to a worker and back, and never so long that others wait for
 * it: whatever is made to be slow, parsing takes up to a millisecond per KiB, and one phone number up to 50 µs.
 */
const inline = { parsedBytes: 8 * 1024, scannedBytes: 64 * 1024, scannedContacts: 250 }

/** Plans where it costs least: small bodies at once, large ones off the event loop. */
export const createPlanner = ({ workers }: { readonly workers: PlanWorkers }): Planner => ({
  async plan(request) {
    const { byteLength } = request.body
    if (byteLength <= inline.parsedBytes) return planRequest(request)
    const maxContacts = Math.min(request.maxContacts, inline.scannedContacts)
    const scanned = byteLength <= inline.scannedBytes ? planScanned({ ...request, maxContacts }) : null
    return scanned ?? workers.plan(request)
  },
  dryRun: async (request) =>
    request.body.byteLength <= inline.parsedBytes ? planDryRun(request) : workers.dryRun(request),
})
