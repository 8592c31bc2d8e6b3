import type { Log } from '#shared/runtime/log.ts'
import { createWorkerPool, type WorkerPool } from '#shared/runtime/worker-pool.ts'
import { scanContacts } from './fast/scan-contacts.ts'
import { type Planned, type PlanRequest, plan, planContacts, type Refused } from './plan.ts'
import { type PlanResult, type PlanTask, unpack } from './plan-worker.ts'

export interface Planner {
  /** Returns `overloaded`, and plans nothing, when too many bodies wait for a worker. */
  plan(request: PlanRequest): Promise<Planned | Refused | { readonly is: 'overloaded' }>
}

export type PlanWorkers = WorkerPool<PlanTask, PlanResult>

/** The maximum number of waiting bodies. A worker needs at most a few hundred milliseconds for each. */
const maxQueue = 64

export const createPlanWorkers = ({ threads, log }: { readonly threads: number; readonly log: Log }): PlanWorkers =>
  createWorkerPool({ file: new URL('plan-worker.ts', import.meta.url), threads, maxQueue, log })

/**
 * Bodies up to these sizes are planned on the event loop: a worker would cost more than the plan. The limits assume
 * malicious bodies: parsing takes up to 1 ms per KiB, and one phone number up to 50 µs.
 */
const inline = { parsedBytes: 8 * 1024, scannedBytes: 64 * 1024, scannedContacts: 250 }

export const createPlanner = ({ workers }: { readonly workers: Pick<PlanWorkers, 'run'> }): Planner => {
  const planInWorker = async (request: PlanRequest, by: PlanTask['by']) => {
    const outcome = await workers.run({ by, request })
    if (outcome.is === 'overloaded') return outcome
    return outcome.value.is === 'planned' ? unpack(outcome.value) : outcome.value
  }
  return {
    async plan(request) {
      const { byteLength } = request.body
      if (byteLength <= inline.parsedBytes) return plan(request)
      if (byteLength > inline.scannedBytes) return planInWorker(request, 'scan')
      const scanned = scanContacts(request.body, Math.min(request.maxContacts, inline.scannedContacts))
      switch (scanned.is) {
        case 'contacts':
          return planContacts(request, scanned.contacts)
        case 'too_many':
          return planInWorker(request, 'scan')
        case 'unsupported':
          return planInWorker(request, 'parse')
      }
    },
  }
}
