import { isQuickPhone } from '#shared/domain/phone.ts'
import type { Log } from '#shared/runtime/log.ts'
import { createWorkerPool, type WorkerPool } from '#shared/runtime/worker-pool.ts'
import type { EncodedContact } from './encoded-contacts.ts'
import { parseContacts } from './exact/parse-contacts.ts'
import { scanContacts } from './fast/scan-contacts.ts'
import { type Planned, type PlanRequest, planContacts, type Refused, regionOf } from './plan.ts'
import { type PlanResult, type PlanTask, unpack } from './plan-worker.ts'

export interface Planner {
  /** Returns `overloaded` when too many bodies wait for a worker, or when the worker of this body had to be ended. */
  plan(request: PlanRequest): Promise<Planned | Refused | { readonly is: 'overloaded' }>
}

export type PlanWorkers = WorkerPool<PlanTask, PlanResult>

type PlanWorkerOptions = {
  readonly threads: number
  readonly maxBodyBytes: number
  /** The lease of an idempotency key: a plan ends long before another request may take over the import. */
  readonly leaseMs: number
  readonly log: Log
}

/** The maximum number of waiting bodies. A worker needs at most about one second for a body of 8 MiB. */
const maxQueue = 64
const maxWaitMs = 5_000
const maxRunMs = 10_000
/** The worst body found, a million different names in one object, needs 16 bytes of heap per byte. */
const heapPerBodyByte = 32
const minHeapMiB = 256

export const createPlanWorkers = ({ threads, maxBodyBytes, leaseMs, log }: PlanWorkerOptions): PlanWorkers =>
  createWorkerPool({
    file: new URL('plan-worker.ts', import.meta.url),
    threads,
    maxQueue,
    heapMiB: Math.max(minHeapMiB, Math.ceil((heapPerBodyByte * maxBodyBytes) / 1024 ** 2)),
    maxWaitMs: Math.min(maxWaitMs, leaseMs / 4),
    maxRunMs: Math.min(maxRunMs, leaseMs / 2),
    log,
  })

/**
 * Bodies up to these limits are planned on the event loop: a worker would cost more than the plan. The limits assume
 * malicious bodies: reading takes up to 0.3 ms per KiB, and a phone number for the full parser up to 50 µs.
 */
const inline = { parsedBytes: 8 * 1024, scannedBytes: 64 * 1024, contacts: 250, slowPhones: 100 }

export const createPlanner = ({ workers }: { readonly workers: Pick<PlanWorkers, 'run'> }): Planner => {
  const planInWorker = async (request: PlanRequest, by: PlanTask['by']) => {
    const outcome = await workers.run({ by, request }, { group: request.purpose.clientId })
    if (outcome.is !== 'done') return { is: 'overloaded' } as const
    return outcome.value.is === 'planned' ? unpack(outcome.value) : outcome.value
  }
  return {
    async plan(request) {
      const { byteLength } = request.body
      if (byteLength > inline.scannedBytes) return planInWorker(request, 'scan')
      const scanned = scanContacts(request.body, Math.min(request.maxContacts, inline.contacts))
      if (scanned.is === 'too_many') return planInWorker(request, 'scan')
      if (scanned.is === 'unsupported' && byteLength > inline.parsedBytes) return planInWorker(request, 'parse')
      const read = scanned.is === 'contacts' ? scanned : parseContacts(request.body, request.maxContacts)
      if (read.is === 'refused') return read
      if (hasManySlowPhones(read.contacts.contacts, request)) {
        return planInWorker(request, scanned.is === 'contacts' ? 'scan' : 'parse')
      }
      return planContacts(request, read.contacts)
    },
  }
}

function hasManySlowPhones(contacts: readonly EncodedContact[], request: PlanRequest): boolean {
  if (contacts.length <= inline.slowPhones) return false
  const region = regionOf(request)
  return contacts.filter(({ phone }) => !isQuickPhone(phone, region)).length > inline.slowPhones
}
