import type { Fault } from '#schemas/errors.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import type { DryRunResponse, ValidationResult } from '#schemas/http/import.ts'
import type { Timestamp } from '#schemas/primitives.ts'
import { importRecords } from '#shared/domain/events/codec.ts'
import { acceptedResponse, decide, initialState } from '#shared/domain/import/import.ts'
import { type ImportPlan, planImport } from '#shared/domain/import/plan.ts'
import { isRegion, type Region } from '#shared/domain/phone.ts'
import type { NewRecord } from '#shared/ports/event-log.ts'
import { type EncodedContacts, encodeChunk, fieldsText, tagsText } from './encoded-contacts.ts'
import { parseContacts } from './exact/parse-contacts.ts'
import { scanContacts } from './fast/scan-contacts.ts'

/** The records of one import are appended as one batch, and the topic takes batches of at most 10 MiB. */
const maxRecordsBytes = 9.5 * 1024 * 1024

export type PlanRequest = {
  readonly body: Uint8Array
  readonly maxContacts: number
  readonly chunkSize: number
  readonly region: string
  readonly purpose: RealRun | DryRun
}

export type RealRun = {
  readonly is: 'import'
  readonly jobId: string
  readonly clientId: string
  readonly correlationId: string
  readonly createdAt: Timestamp
  readonly phoneMetadataVersion: string
  /** The log may already contain these records, under the same ids. */
  readonly repeat: boolean
}

export type DryRun = {
  readonly is: 'dry_run'
  readonly clientId: string
  readonly correlationId: string
  readonly message: string
}

/** `records` is empty for a dry run. `response` is the JSON body. */
export type Planned = { readonly is: 'planned'; readonly records: readonly NewRecord[]; readonly response: string }

export type Refused =
  | { readonly is: 'refused'; readonly error: 'invalid_json' | 'empty_import' | 'payload_too_large' }
  | { readonly is: 'refused'; readonly error: 'validation_failed'; readonly faults: readonly Fault[] }

/** Pure: the same request gives the same bytes in every process. Uses the parser unless the scan succeeds. */
export function plan(request: PlanRequest): Planned | Refused {
  const scanned = scanContacts(request.body, request.maxContacts)
  return scanned.is === 'contacts' ? planContacts(request, scanned.contacts) : planByParser(request)
}

export function planByParser(request: PlanRequest): Planned | Refused {
  const parsed = parseContacts(request.body, request.maxContacts)
  return parsed.is === 'refused' ? parsed : planContacts(request, parsed.contacts)
}

/** Imports and dry runs share this function, so a dry run shows exactly what an import would do. */
export function planContacts(request: PlanRequest, source: EncodedContacts): Planned | Refused {
  const { chunkSize, purpose } = request
  const plan = planImport(source.contacts, { region: regionOf(request), chunkSize })
  const chunks = plan.chunks.map((chunk) => ({ size: chunk.length, contacts: encodeChunk(source, chunk) }))
  switch (purpose.is) {
    case 'import':
      return importPlanned(purpose, { plan, chunks, chunkSize })
    case 'dry_run':
      return { is: 'planned', records: [], response: dryRunResponse(purpose, source, { plan, chunks }) }
  }
}

export function regionOf({ region }: PlanRequest): Region {
  if (!isRegion(region)) throw new Error('The phone metadata does not contain the region of the plan.')
  return region
}

type EncodedPlan = {
  readonly plan: ImportPlan
  readonly chunks: readonly { readonly size: number; readonly contacts: Buffer }[]
}

function importPlanned(run: RealRun, encoded: EncodedPlan & { readonly chunkSize: number }): Planned | Refused {
  const { is: _, repeat, ...facts } = run
  const events = decide({ type: 'AcceptImport', ...facts, ...encoded }, initialState)
  const [accepted] = events
  if (accepted?.type !== 'ImportAccepted') throw new Error('Accepting a new import gave no ImportAccepted event.')
  const records = importRecords(events, { source: eventSources.ingest, time: run.createdAt, repeat })
  const bytes = records.reduce((sum, record) => sum + record.value.byteLength, 0)
  if (bytes > maxRecordsBytes) return { is: 'refused', error: 'payload_too_large' }
  return { is: 'planned', records, response: JSON.stringify(acceptedResponse(accepted)) }
}

/** Inserts contacts as text, because parsing them would change numbers. */
function dryRunResponse(run: DryRun, { json, contacts }: EncodedContacts, { plan, chunks }: EncodedPlan): string {
  const totals = {
    correlation_id: run.correlationId,
    total_contacts: contacts.length,
    valid_contacts: plan.validCount,
    invalid_contacts: plan.invalidCount,
    chunks_count: chunks.length,
  } satisfies Partial<DryRunResponse>
  const results = contacts.map((contact, index) => {
    const normalized = plan.phones[index] ?? null
    const result = {
      original_phone: contact.phone,
      normalized_phone: normalized,
      is_valid: normalized !== null,
      error: normalized === null ? 'Invalid phone number' : null,
    } satisfies Partial<ValidationResult>
    const [tags, additional_fields] = [tagsText(json, contact), fieldsText(json, contact)]
    return withMembers(result, { tags, additional_fields })
  })
  const shownChunks = chunks.map(({ size, contacts: encoded }, chunk_index) =>
    withMembers({ chunk_index, size }, { contacts: encoded.toString('utf8') }),
  )
  return withMembers(totals, {
    validation_results: `[${results.join(',')}]`,
    chunks: `[${shownChunks.join(',')}]`,
    message: JSON.stringify(run.message),
  })
}

/** Appends `members`, whose values are JSON texts, to the JSON of a non-empty object. */
const withMembers = (object: object, members: Readonly<Record<string, string>>): string => {
  const appended = Object.entries(members).map(([name, json]) => `,"${name}":${json}`)
  return `${JSON.stringify(object).slice(0, -1)}${appended.join('')}}`
}
