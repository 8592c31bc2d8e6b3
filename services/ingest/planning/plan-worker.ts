import type { NewRecord } from '#shared/ports/event-log.ts'
import { workerTask } from '#shared/runtime/worker-pool.ts'
import { type Planned, type PlanRequest, plan, planByParser, type Refused } from './plan.ts'

/** `parse`: the scan has already found the body unsupported. */
export type PlanTask = { readonly by: 'scan' | 'parse'; readonly request: PlanRequest }
export type PlanResult = PackedPlan | Refused

/** The values of all records in one buffer, so that the worker can transfer them without copying. */
type PackedPlan = Omit<Planned, 'records'> & {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly records: readonly (Omit<NewRecord, 'value'> & { readonly length: number })[]
}

export const run = workerTask<PlanTask, PlanResult>(({ by, request }) => {
  const planned = by === 'scan' ? plan(request) : planByParser(request)
  if (planned.is === 'refused') return { value: planned }
  const value = pack(planned)
  return { value, transfer: [value.bytes] }
})

function pack({ records, ...planned }: Planned): PackedPlan {
  const bytes = new Uint8Array(records.reduce((sum, { value }) => sum + value.byteLength, 0))
  let offset = 0
  for (const { value } of records) {
    bytes.set(value, offset)
    offset += value.byteLength
  }
  return {
    ...planned,
    bytes,
    records: records.map(({ value, ...record }) => ({ ...record, length: value.byteLength })),
  }
}

export function unpack({ bytes, records, ...planned }: PackedPlan): Planned {
  let offset = 0
  return {
    ...planned,
    records: records.map(({ length, ...record }) => {
      const value = bytes.subarray(offset, offset + length)
      offset += length
      return { ...record, value }
    }),
  }
}
