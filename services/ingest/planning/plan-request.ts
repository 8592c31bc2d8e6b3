import type { Fault } from '#schemas/errors.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import type { DryRunResponse } from '#schemas/http/import.ts'
import { type EncodeChunk, importRecords } from '#shared/domain/events/codec.ts'
import { acceptedResponse, decide, initialState } from '#shared/domain/import/import.ts'
import { type ImportPlan, planContacts, planImport, validationResults } from '#shared/domain/import/plan.ts'
import { isRegion } from '#shared/domain/phone.ts'
import type { NewRecord } from '#shared/ports/event-log.ts'
import type { Claim } from '#shared/ports/idempotency-keys.ts'
import { parseContacts } from './exact/parse-contacts.ts'
import { scanContacts } from './fast/scan-contacts.ts'
import { encodeScanned } from './scanned-chunk.ts'

/** A plan larger than this could not be appended as one batch (the topic takes 10 MiB). */
const largestPlan = 9.5 * 1024 * 1024

export type PlanBounds = { readonly maxContacts: number }

type Facts = Pick<Claim, 'jobId' | 'clientId' | 'correlationId' | 'createdAt' | 'plan'>

export type PlanRequest = PlanBounds & {
  readonly body: Uint8Array
  readonly facts: Facts
  /** The records may be in the log already, under the same ids. */
  readonly repeat: boolean
}

export type Refusal =
  | { readonly is: 'refused'; readonly error: 'invalid_json' | 'empty_import' | 'payload_too_large' }
  | { readonly is: 'refused'; readonly error: 'validation_failed'; readonly faults: readonly Fault[] }

/** The records to append and the 202 body they justify. */
export type Planned = { readonly is: 'planned'; readonly records: readonly NewRecord[]; readonly response: string }

/**
 * From the body's bytes to the event bytes. Pure: the same request plans the same records, in any process. What the
 * scan is sure of stays in bytes; all else, and everything that is wrong, is parsed.
 */
export const planRequest = (request: PlanRequest): Planned | Refusal => planScanned(request) ?? planParsed(request)

/** The same, of a body that the scan is sure of; null for any other. Takes time in proportion to the body, and little. */
export function planScanned(request: PlanRequest): Planned | Refusal | null {
  const { body, maxContacts } = request
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const scanned = scanContacts(text, maxContacts)
  if (scanned === null) return null
  const plan = planContacts(scanned, rulesOf(request), (contact, phone) => ({ ...contact, phone }))
  return planned(request, plan, encodeScanned(text))
}

function planParsed(request: PlanRequest): Planned | Refusal {
  const parsed = parseContacts(request.body, request.maxContacts)
  return parsed.is === 'refused' ? parsed : planned(request, planImport(parsed.contacts, rulesOf(request)))
}

const rulesOf = ({ facts: { plan } }: PlanRequest) => ({ region: regionOf(plan.region), chunkSize: plan.chunkSize })

function planned<C>({ facts, repeat }: PlanRequest, plan: ImportPlan<C>, encodeChunk?: EncodeChunk<C>) {
  const { jobId, clientId, correlationId, createdAt } = facts
  const { chunkSize, phoneMetadataVersion } = facts.plan
  const events = decide(
    { type: 'AcceptImport', jobId, clientId, correlationId, createdAt, chunkSize, phoneMetadataVersion, plan },
    initialState,
  )
  const [accepted] = events
  if (accepted?.type !== 'ImportAccepted') throw new Error('A new import decided no ImportAccepted.')
  const records = importRecords(events, { source: eventSources.ingest, time: createdAt, repeat, encodeChunk })
  const bytes = records.reduce((sum, record) => sum + record.value.byteLength, 0)
  if (bytes > largestPlan) return { is: 'refused', error: 'payload_too_large' } as const
  return { is: 'planned', records, response: JSON.stringify(acceptedResponse(accepted)) } as const
}

export type DryRunRequest = PlanBounds & {
  readonly body: Uint8Array
  readonly correlationId: string
  readonly plan: Pick<Claim['plan'], 'chunkSize' | 'region'>
  readonly message: string
}

export type DryRunPlanned = { readonly is: 'dry_run'; readonly response: string }

/** What a real run of the same body would plan. Stringified here, where numbers still know their source text. */
export function planDryRun(request: DryRunRequest): DryRunPlanned | Refusal {
  const parsed = parseContacts(request.body, request.maxContacts)
  if (parsed.is === 'refused') return parsed
  const { chunkSize, region } = request.plan
  const plan = planImport(parsed.contacts, { region: regionOf(region), chunkSize })
  const response: DryRunResponse = {
    correlation_id: request.correlationId,
    total_contacts: parsed.contacts.length,
    valid_contacts: plan.validCount,
    invalid_contacts: plan.invalidIndexes.length,
    chunks_count: plan.chunks.length,
    validation_results: validationResults(parsed.contacts, plan),
    chunks: plan.chunks.map((contacts, chunk_index) => ({
      chunk_index,
      size: contacts.length,
      contacts: [...contacts],
    })),
    message: request.message,
  }
  return { is: 'dry_run', response: JSON.stringify(response) }
}

function regionOf(text: string) {
  if (!isRegion(text)) throw new Error('The region of the plan is not one that the phone metadata knows.')
  return text
}
