import {
  type DryRunPlanned,
  type DryRunRequest,
  type Planned,
  type PlanRequest,
  planDryRun,
  planRequest,
  type Refusal,
} from './plan-request.ts'

type Overloaded = { readonly is: 'overloaded' }

/** Plans an import, or says why it can't be taken. Overloaded: nothing was done, because too much waits already. */
export interface Planner {
  plan(request: PlanRequest): Promise<Planned | Refusal | Overloaded>
  dryRun(request: DryRunRequest): Promise<DryRunPlanned | Refusal | Overloaded>
}

export type PlanWorkers = Planner

/** Up to this many bytes, planning takes less time than the way to a worker and back. */
const inlineBytes = 64 * 1024

/** Plans where it costs least: small bodies at once, large ones off the event loop. */
export const createPlanner = ({ workers }: { readonly workers: PlanWorkers }): Planner => ({
  plan: async (request) => (request.body.byteLength <= inlineBytes ? planRequest(request) : workers.plan(request)),
  dryRun: async (request) => (request.body.byteLength <= inlineBytes ? planDryRun(request) : workers.dryRun(request)),
})
