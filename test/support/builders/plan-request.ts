import type { DryRun, Planned, PlanRequest, RealRun, Refused } from '#services/ingest/planning/plan.ts'
import { importRecords } from '#shared/domain/events/codec.ts'
import { acceptedResponse, decide, initialState } from '#shared/domain/import/import.ts'
import { planImport } from '#shared/domain/import/plan.ts'
import { referenceContacts } from '#test/support/planning/reference-contacts.ts'

const correlationId = '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34'
const createdAt = '2026-01-31T09:30:00.000Z'

export const realRun: RealRun = {
  is: 'import',
  jobId: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b',
  clientId: 'cl_1',
  correlationId,
  createdAt,
  phoneMetadataVersion: '1',
  repeat: false,
}
const dryRun: DryRun = { is: 'dry_run', clientId: 'cl_1', correlationId, message: 'm' }

type Limits = { readonly maxContacts: number; readonly chunkSize: number }

export const importOf = (body: Uint8Array, limits: Limits): PlanRequest => ({
  body,
  region: 'RU',
  purpose: realRun,
  ...limits,
})
export const dryRunOf = (body: Uint8Array, limits: Limits): PlanRequest => ({
  ...importOf(body, limits),
  purpose: dryRun,
})

/** Converts record values to text. Throws when the body was refused. */
export function readable(plan: Planned | Refused | { readonly is: 'overloaded' }) {
  if (plan.is !== 'planned') throw new Error(`The plan is ${JSON.stringify(plan)}.`)
  const { records, response } = plan
  return { response, records: records.map((record) => ({ ...record, value: Buffer.from(record.value).toString() })) }
}

/** The expected plan, made from parsed values with JSON.stringify. Every real plan must have the same bytes. */
export function planFromValues(body: Uint8Array, { maxContacts, chunkSize }: Limits) {
  const parsed = referenceContacts(body, maxContacts)
  if (parsed.is === 'refused') throw new Error(`The body is refused: ${JSON.stringify(parsed)}.`)
  const members = parsed.contacts.map(({ tags = [], additionalFields = {} }) => ({
    tags,
    additional_fields: additionalFields,
  }))
  const plan = planImport(parsed.contacts, { region: 'RU', chunkSize })
  const chunks = plan.chunks.map((chunk) => chunk.map(({ index, phone }) => ({ phone, ...members[index] })))
  const events = decide(
    {
      type: 'AcceptImport',
      ...realRun,
      plan,
      chunkSize,
      chunks: chunks.map((chunk) => ({ size: chunk.length, contacts: Buffer.from(JSON.stringify(chunk)) })),
    },
    initialState,
  )
  const [accepted] = events
  if (accepted?.type !== 'ImportAccepted') throw new Error('The first event of an import must be its ImportAccepted.')
  const dryRunResponse = {
    correlation_id: correlationId,
    total_contacts: parsed.contacts.length,
    valid_contacts: plan.validCount,
    invalid_contacts: plan.invalidCount,
    chunks_count: chunks.length,
    validation_results: parsed.contacts.map(({ phone }, index) => ({
      original_phone: phone,
      normalized_phone: plan.phones[index] ?? null,
      is_valid: plan.phones[index] !== null,
      error: plan.phones[index] === null ? 'Invalid phone number' : null,
      ...members[index],
    })),
    chunks: chunks.map((contacts, chunk_index) => ({ chunk_index, size: contacts.length, contacts })),
    message: dryRun.message,
  }
  return {
    import: readable({
      is: 'planned',
      records: importRecords(events, { source: '/contact-import/ingest', time: createdAt }),
      response: JSON.stringify(acceptedResponse(accepted)),
    }),
    dryRun: JSON.stringify(dryRunResponse),
  }
}
