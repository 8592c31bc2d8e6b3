import { describe, expect, test } from 'vitest'
import { ChunkFailedEvent } from '#schemas/events/deliveries.ts'
import { readUnreadableChunk, unreadableChunkFailed } from '#shared/domain/dead-letters/unreadable-chunk.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const job = '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'
const otherJob = '7d1f8a52-2f8b-4a0e-8a53-5b6c7d8e9f00'
const subject = { ce_subject: job }
const chunk = { ce_chunkindex: '3', ce_chunksize: '100' }
const value = (data: unknown) => new TextEncoder().encode(JSON.stringify(data))

describe('the chunk of an unreadable record', () => {
  const complete = [
    ['key and headers', job, { ...subject, ...chunk }, null],
    ['headers alone', null, { ...subject, ...chunk }, null],
    ['key and value', job, {}, value({ chunk_index: 3, size: 100 })],
    ['the value alone', null, {}, value({ job_id: job, chunk_index: 3, size: 100 })],
    [
      'an invalid size header and a size in the value',
      job,
      { ...subject, ce_chunkindex: '3', ce_chunksize: 'x' },
      value({ size: 100 }),
    ],
  ] as const
  test.each(complete)('is read from %s', (_from, key, headers, bytes) => {
    expect(readUnreadableChunk({ key, headers, value: bytes })).toEqual({ jobId: job, chunkIndex: 3, size: 100 })
  })

  const incomplete = [
    ['no job', null, chunk, null],
    ['a job id that is not a UUID', 'job', chunk, null],
    ['two jobs', otherJob, { ...subject, ...chunk }, null],
    ['another job in the value', job, subject, value({ job_id: otherJob, chunk_index: 3 })],
    ['no index', job, subject, null],
    ['an index below zero', job, { ...subject, ce_chunkindex: '-1' }, value({ chunk_index: -1 })],
    ['an index that is not an integer', job, subject, value({ chunk_index: 1.5 })],
    ['a value that is not JSON', job, subject, new Uint8Array([0xff, 0x7b])],
  ] as const
  test.each(incomplete)('is null for %s', (_from, key, headers, bytes) => {
    expect(readUnreadableChunk({ key, headers, value: bytes })).toBeNull()
  })

  test('has size 0 when no size is readable', () => {
    expect(readUnreadableChunk({ key: job, headers: { ce_chunkindex: '0' }, value: null })).toMatchObject({ size: 0 })
  })

  test('fails with a valid event without an attempt', () => {
    const failed = unreadableChunkFailed({ jobId: job, chunkIndex: 3, size: 0 }, Date.parse('2026-01-31T09:30:00.000Z'))
    expect(failed.data).toMatchObject({ attempt: 0, error_code: 'record_unreadable', response_status_code: null })
    expect(faultsOf(ChunkFailedEvent.data, failed.data)).toEqual([])
  })
})
