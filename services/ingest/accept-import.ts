import type { Fault } from '#schemas/errors.ts'
import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { acceptedResponse } from '#shared/domain/import/import.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { EventAppender, EventReader } from '#shared/ports/event-log.ts'
import type { Claim, ClaimOutcome, IdempotencyKeys, PlanInputs } from '#shared/ports/idempotency-keys.ts'
import type { Planner } from './planning/planner.ts'

/** The log is searched from this much before the claim: the clocks of ingest and broker may differ. */
const clockSkewMs = 60_000
const waitStepMs = 100

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
 * - refused: the body can't be taken; the key is free again
 * - uncertain: the log did not say whether it took the import; the same request again will find out
 */
export type ImportOutcome =
  | { readonly is: 'accepted'; readonly response: string; readonly jobId: string; readonly replayed: boolean }
  | { readonly is: 'conflict'; readonly existingCreatedAt: string }
  | { readonly is: 'in_progress' }
  | { readonly is: 'refused'; readonly error: 'invalid_json' | 'empty_import' | 'payload_too_large' }
  | { readonly is: 'refused'; readonly error: 'validation_failed'; readonly faults: readonly Fault[] }
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

/** Claim the key, plan, append, finish: a 202 exists only after the log and the claim both say so. */
export const createAcceptImport = (deps: Deps) =>
  async function acceptImport(request: ImportRequest): Promise<ImportOutcome> {
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

/** A duplicate waits for the first request to end, or to lose its lease. */
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
    await pause(waitStepMs)
  }
}

async function acceptFirst(claim: Claim, request: ImportRequest, deps: Deps): Promise<ImportOutcome> {
  const planned = await plan(claim, request, deps).catch(async (fault: unknown) => {
    await deps.keys.release(claim)
    throw fault
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
 * An earlier holder may have appended before it died, so the log is read first. What is absent there may still arrive
 * late; the repeat is marked, and readers fold facts by id.
 */
async function takeOver(claim: Claim, request: ImportRequest, deps: Deps): Promise<ImportOutcome> {
  const found = await findAccepted(claim, deps)
  if (found !== null) return finish(claim, found, request, deps)
  const planned = await plan(claim, request, deps)
  // The refusal follows from the body and the claim alone: no holder has appended this import, or ever will.
  if (planned.is === 'refused') await deps.keys.release(claim)
  if (planned.is !== 'planned') return planned
  const appended = await deps.appender.append(planned.records)
  if (appended.is === 'appended') return finish(claim, planned.response, request, deps)
  return appended.is === 'refused' ? { is: 'refused', error: 'payload_too_large' } : { is: 'uncertain' }
}

/** By the inputs of the claim; only the phone rules are always those of this process, and the facts say which. */
const plan = (claim: Claim, request: ImportRequest, { planner }: Deps) =>
  planner.plan({
    body: request.body,
    facts: { ...claim, plan: { ...claim.plan, phoneMetadataVersion: request.plan.phoneMetadataVersion } },
    repeat: claim.fence > 1,
    maxContacts: claim.plan.maxContacts,
  })

/** The 202 body of this job's `ImportAccepted`, if the log holds one. */
async function findAccepted({ jobId, createdAt }: Claim, { appender, reader }: Deps): Promise<string | null> {
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

/** A later holder of the claim answers for the same job with the same bytes, so its answer is ours. */
async function finish(claim: Claim, response: string, request: ImportRequest, deps: Deps): Promise<ImportOutcome> {
  const finished = await deps.keys.finish(claim, response, deps.clock.now())
  if (finished) return { is: 'accepted', response, jobId: claim.jobId, replayed: false }
  const current = await claimOrWait(request, deps)
  switch (current.is) {
    case 'replay':
      return { is: 'accepted', response: current.claim.response, jobId: current.claim.jobId, replayed: true }
    case 'yours':
      if (current.claim.jobId === claim.jobId) return takeOver(current.claim, request, deps)
      // The record expired while this request ran. Its import is in the log, and must not come there a second time.
      await deps.keys.release(current.claim)
      return { is: 'accepted', response, jobId: claim.jobId, replayed: false }
    case 'conflict':
      return { is: 'conflict', existingCreatedAt: current.createdAt }
    case 'in_progress':
      return { is: 'in_progress' }
  }
}
