import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { acceptedResponse } from '#shared/domain/import/import.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { EventAppender, EventReader } from '#shared/ports/event-log.ts'
import type {
  Claim,
  ClaimLeases,
  ClaimOutcome,
  ClaimRecords,
  IdempotencyKeys,
  PlanInputs,
} from '#shared/ports/idempotency-keys.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import type { Refused } from './planning/plan.ts'
import type { Planner } from './planning/planner.ts'

/** How long before the claim the log is read: the clocks of ingest and the broker may differ. */
const clockSkewMs = 60_000
const pollIntervalMs = 100
/** A holder starts no append after its lease. Its append ends within this time: 2 s in the queue and 10 s for the send. */
const appendLimitMs = 15_000
/** The minimum time before an unfinished take-over answers `in_progress`. With a larger `waitMs`: after `waitMs`. */
const leastTakeOverMs = 2_000

export type ImportRequest = {
  readonly clientId: string
  readonly key: string
  readonly payloadHash: string
  readonly body: Uint8Array
  readonly correlationId: string
  readonly plan: Omit<PlanInputs, 'maxContacts'>
}

/**
 * - accepted: the import is in the log; `response` is the 202 body, byte for byte
 * - refused: the body is invalid or too large; the key is released
 * - uncertain: the log may contain the import; a repeat of the request reads the log
 */
export type AcceptOutcome =
  | { readonly is: 'accepted'; readonly response: string; readonly jobId: string; readonly replayed: boolean }
  | { readonly is: 'conflict'; readonly existingCreatedAt: string }
  | { readonly is: 'in_progress' }
  | Refused
  | { readonly is: 'overloaded' }
  | { readonly is: 'uncertain' }

export type IngestKeys = IdempotencyKeys & ClaimLeases & Pick<ClaimRecords, 'find'>

type Deps = {
  readonly keys: IngestKeys
  readonly appender: EventAppender
  readonly reader: EventReader
  readonly planner: Planner
  readonly clock: Clock
  /** Milliseconds since an arbitrary start. Never decreases. */
  readonly monotonic: () => number
  readonly newJobId: () => string
  readonly pause: (ms: number) => Promise<void>
  readonly leaseMs: number
  readonly retentionMs: number
  readonly waitMs: number
  readonly maxContacts: number
}

/** Claims the key, plans the import, appends its records to the log and stores the response. */
export const createAcceptImport = (deps: Deps) =>
  async function acceptImport(request: ImportRequest): Promise<AcceptOutcome> {
    const outcome = await claimOrWait(request, deps)
    switch (outcome.is) {
      case 'replay':
        return { is: 'accepted', response: outcome.claim.response, jobId: outcome.claim.jobId, replayed: true }
      case 'conflict':
        return { is: 'conflict', existingCreatedAt: outcome.createdAt }
      case 'in_progress':
        return { is: 'in_progress' }
      case 'yours':
        return outcome.claim.fence === 1
          ? acceptFirst(outcome.claim, request, deps)
          : takeOverInTime(outcome.claim, request, deps)
    }
  }

async function claimOrWait(request: ImportRequest, deps: Deps): Promise<ClaimOutcome> {
  const { keys, clock, monotonic, newJobId, pause, leaseMs, retentionMs, waitMs, maxContacts } = deps
  const { clientId, key, payloadHash, correlationId } = request
  const plan = { ...request.plan, maxContacts }
  const startedAt = monotonic()
  const jobId = newJobId()
  const createdAt = new Date(clock.now()).toISOString()
  const mayWait = () => monotonic() - startedAt < waitMs
  for (;;) {
    const claim = { clientId, key, payloadHash, jobId, correlationId, createdAt, plan, leaseMs, retentionMs }
    const outcome = await keys.claim(claim, clock.now())
    if (outcome.is !== 'in_progress') return outcome
    // Reads until the lease ends or the claim changes, because an attempt to claim needs two writes.
    let held: Claim | null = outcome.claim
    while (held !== null && mayWait() && isHeld(held, clock.now())) {
      await pause(pollIntervalMs)
      held = await keys.find(clientId, key, clock.now())
    }
    if (held !== null && isHeld(held, clock.now())) return outcome
  }
}

const isHeld = ({ state, leaseUntil }: Claim, now: number): boolean => state === 'in_progress' && leaseUntil > now

/** Renews the lease if a third of it has passed. Returns false when another request took over the claim. */
function leaseOf(claim: Claim, { keys, clock, monotonic, leaseMs }: Deps) {
  let renewedAt = monotonic()
  return async function keepLease(): Promise<boolean> {
    if (monotonic() - renewedAt <= leaseMs / 3) return true
    renewedAt = monotonic()
    return await keys.renew(claim, leaseMs, clock.now())
  }
}

/** Does not release the key after an ambiguous append: the records may still arrive. */
async function acceptFirst(claim: Claim, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const keepLease = leaseOf(claim, deps)
  const prepare = async () => ({ planned: await plan(claim, request, deps), leaseHeld: await keepLease() })
  const { planned, leaseHeld } = await prepare().catch(async (error: unknown) => {
    await deps.keys.release(claim)
    throw error
  })
  if (planned.is !== 'planned') {
    await deps.keys.release(claim)
    return planned
  }
  if (!leaseHeld) return { is: 'in_progress' }
  const appended = await deps.appender.append(planned.records)
  switch (appended.is) {
    case 'appended':
      return finish(claim, planned.response, request, deps)
    case 'refused':
      await deps.keys.release(claim)
      return { is: 'refused', error: 'payload_too_large' }
    case 'overloaded':
      await deps.keys.release(claim)
      return { is: 'overloaded' }
    case 'ambiguous':
      return { is: 'uncertain' }
  }
}

/** The take-over continues after the answer `in_progress`, so that a later request gets its response. */
async function takeOverInTime(claim: Claim, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const withinMs = Math.max(deps.waitMs, leastTakeOverMs)
  return await withDeadline<AcceptOutcome>(takeOver(claim, request, deps), withinMs, () => ({ is: 'in_progress' }))
}

/**
 * Reads the log first: an earlier holder may have appended the import. The records of that holder may also arrive
 * later. Therefore the new records are marked as repeats, and consumers identify events by id.
 */
async function takeOver(claim: Claim, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const keepLease = leaseOf(claim, deps)
  const found = await findAcceptedResponse(claim, keepLease, deps)
  if (found === 'lost') return { is: 'in_progress' }
  if (found !== null) return finish(claim, found.response, request, deps)
  const planned = await plan(claim, request, deps)
  // The refusal depends only on the body and the claim, so no other holder can have appended this import.
  if (planned.is === 'refused') await deps.keys.release(claim)
  if (planned.is !== 'planned') return planned
  if (!(await keepLease())) return { is: 'in_progress' }
  const appended = await deps.appender.append(planned.records)
  if (appended.is === 'appended') return finish(claim, planned.response, request, deps)
  return appended.is === 'refused' ? { is: 'refused', error: 'payload_too_large' } : { is: 'uncertain' }
}

/** Takes the limits from the claim, but the metadata version from this process: its library parses the phones. */
const plan = (claim: Claim, request: ImportRequest, { planner }: Deps) =>
  planner.plan({
    body: request.body,
    maxContacts: claim.plan.maxContacts,
    chunkSize: claim.plan.chunkSize,
    region: claim.plan.region,
    purpose: {
      is: 'import',
      jobId: claim.jobId,
      clientId: claim.clientId,
      correlationId: claim.correlationId,
      createdAt: claim.createdAt,
      phoneMetadataVersion: request.plan.phoneMetadataVersion,
      repeat: claim.fence > 1,
    },
  })

/**
 * Reads from the creation of the claim until all former holders' appends have ended, and renews the lease meanwhile.
 * Null: the log does not contain the import. `lost`: another request took over the claim.
 */
async function findAcceptedResponse(
  { jobId, createdAt, formerLeaseUntil }: Claim,
  keepLease: () => Promise<boolean>,
  { appender, reader, clock }: Deps,
): Promise<{ readonly response: string } | null | 'lost'> {
  const since = Date.parse(createdAt) - clockSkewMs
  const until = (formerLeaseUntil ?? clock.now()) + appendLimitMs + clockSkewMs
  for await (const record of reader.read(topics.imports.name, appender.partitionFor(jobId), since)) {
    if (record.appendedAt > until) return null
    if (!(await keepLease())) return 'lost'
    if (record.key !== jobId || record.headers[headerNames.type] !== 'ImportAccepted') continue
    const decoded = decodeEvent(record)
    if (decoded.is === 'event' && decoded.event.type === 'ImportAccepted') {
      return { response: JSON.stringify(acceptedResponse(decoded.event)) }
    }
  }
  return null
}

/** If a later holder has taken over the claim and stored its response, returns that response. */
async function finish(claim: Claim, response: string, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const finished = await deps.keys.finish(claim, response, deps.clock.now())
  if (finished) return { is: 'accepted', response, jobId: claim.jobId, replayed: false }
  const current = await claimOrWait(request, deps)
  switch (current.is) {
    case 'replay':
      return { is: 'accepted', response: current.claim.response, jobId: current.claim.jobId, replayed: true }
    case 'yours':
      if (current.claim.jobId === claim.jobId) return takeOver(current.claim, request, deps)
      // The claim expired during this request, and `claimOrWait` created a new claim. The import is already in the log.
      await deps.keys.release(current.claim)
      return { is: 'accepted', response, jobId: claim.jobId, replayed: false }
    case 'conflict':
      return { is: 'conflict', existingCreatedAt: current.createdAt }
    case 'in_progress':
      return { is: 'in_progress' }
  }
}
