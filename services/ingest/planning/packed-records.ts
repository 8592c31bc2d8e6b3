import type { NewRecord } from '#shared/ports/event-log.ts'

/** Records as they pass from a worker: one buffer that changes hands without a copy, and how it divides. */
export type PackedRecords = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly records: readonly (Omit<NewRecord, 'value'> & { readonly length: number })[]
}

export function packRecords(records: readonly NewRecord[]): PackedRecords {
  const bytes = new Uint8Array(records.reduce((sum, { value }) => sum + value.byteLength, 0))
  let offset = 0
  for (const { value } of records) {
    bytes.set(value, offset)
    offset += value.byteLength
  }
  return { bytes, records: records.map(({ value, ...record }) => ({ ...record, length: value.byteLength })) }
}

export function unpackRecords({ bytes, records }: PackedRecords): readonly NewRecord[] {
  let offset = 0
  return records.map(({ length, ...record }) => {
    const value = bytes.subarray(offset, offset + length)
    offset += length
    return { ...record, value }
  })
}
