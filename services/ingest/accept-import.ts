import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { acceptedResponse } from '#shared/domain/import/import.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { EventAppender, EventReader } from '#shared/ports/event-log.ts'
import type { Claim, ClaimOutcome, IdempotencyKeys, PlanInputs } from '#shared/ports/idempotency-keys.ts'
import type { Refused } from './planning/plan.ts'
import type { Planner } from './planning/planner.ts'

/** How long before the claim the log is read: the clocks of ingest and the broker may differ. */
const clockSkewMs = 60_000
const pollIntervalMs = 100

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

type Deps = {
  readonly keys: IdempotencyKeys
  readonly appender: EventAppender
  readonly reader: EventReader
  readonly planner: Planner
  readonly clock: Clock
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
          : takeOver(outcome.claim, request, deps)
    }
  }

async function claimOrWait(request: ImportRequest, deps: Deps): Promise<ClaimOutcome> {
  const { keys, clock, newJobId, pause, leaseMs, retentionMs, waitMs, maxContacts } = deps
  const { clientId, key, payloadHash, correlationId } = request
  const plan = { ...request.plan, maxContacts }
  const startedAt = clock.now()
  const jobId = newJobId()
  const createdAt = new Date(startedAt).toISOString()
  for (;;) {
    const claim = { clientId, key, payloadHash, jobId, correlationId, createdAt, plan, leaseMs, retentionMs }
    const outcome = await keys.claim(claim, clock.now())
    if (outcome.is !== 'in_progress' || clock.now() - startedAt >= waitMs) return outcome
    await pause(pollIntervalMs)
  }
}

/** Does not release the key after an ambiguous append: the records may still arrive. */
async function acceptFirst(claim: Claim, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const planned = await plan(claim, request, deps).catch(async (error: unknown) => {
    await deps.keys.release(claim)
    throw error
  })
  if (planned.is !== 'planned') {
    await deps.keys.release(claim)
    return planned
  }
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

/**
 * Reads the log first: an earlier holder may have appended the import. The records of that holder may also arrive
 * later. Therefore the new records are marked as repeats, and consumers identify events by id.
 */
async function takeOver(claim: Claim, request: ImportRequest, deps: Deps): Promise<AcceptOutcome> {
  const found = await findAcceptedResponse(claim, deps)
  if (found !== null) return finish(claim, found, request, deps)
  const planned = await plan(claim, request, deps)
  // The refusal depends only on the body and the claim, so no other holder can have appended this import.
  if (planned.is === 'refused') await deps.keys.release(claim)
  if (planned.is !== 'planned') return planned
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

async function findAcceptedResponse({ jobId, createdAt }: Claim, { appender, reader }: Deps): Promise<string | null> {
  const since = Date.parse(createdAt) - clockSkewMs
  for await (const record of reader.read(topics.imports.name, appender.partitionFor(jobId), since)) {
    if (record.key !== jobId || record.headers[headerNames.type] !== 'ImportAccepted') continue
    const decoded = decodeEvent(record)
    if (decoded.is === 'event' && decoded.event.type === 'ImportAccepted') {
      return JSON.stringify(acceptedResponse(decoded.event))
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
