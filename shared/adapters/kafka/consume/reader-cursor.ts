import type { LogRecord } from '#shared/ports/event-log.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'

export type CursorOptions = {
  readonly from: number
  /** Excluded. */
  readonly end: number
  readonly pause: () => void
  readonly resume: () => void
  /** The read fails when it waits for a record longer than this, in milliseconds. */
  readonly idleTimeoutMs: number
}

export type Cursor = {
  next(): number
  wantsMore(): boolean
  push(records: readonly LogRecord[], passedOffset: number): void
  /** Makes `batches` throw the error once the buffer is empty. */
  fail(error: unknown): void
  /** In batches, because each step of an asynchronous generator costs microtasks. */
  batches(): AsyncGenerator<readonly LogRecord[], void, undefined>
}

/** `full`: fetching is paused until the buffer falls below `resumeBelowBytes`. */
type State = { readonly is: 'reading' } | { readonly is: 'full' } | { readonly is: 'failed'; readonly error: unknown }

const pauseAboveBytes = 8 * 1024 * 1024
const resumeBelowBytes = 4 * 1024 * 1024
/** Estimated memory of a record's headers and objects, which often exceeds its value. */
const bytesPerRecord = 2 * 1024

/** Buffers the records of one read. Pauses fetching while the buffer is full. */
export function createCursor({ from, end, pause, resume, idleTimeoutMs }: CursorOptions): Cursor {
  const buffer = { batches: [] as LogRecord[][], bytes: 0 }
  let state: State = { is: 'reading' }
  let next = from
  let arrived = Promise.withResolvers<void>()

  function push(records: readonly LogRecord[], passedOffset: number) {
    const wanted = records.filter(({ offset }) => offset >= next && offset < end)
    if (wanted.length > 0) buffer.batches.push(wanted)
    buffer.bytes += sizeOf(wanted)
    next = Math.max(next, passedOffset + 1)
    if (state.is !== 'failed') state = { is: buffer.bytes > pauseAboveBytes ? 'full' : 'reading' }
    if (state.is === 'full' || next >= end) pause()
    arrived.resolve()
  }

  function take(): LogRecord[] | undefined {
    const batch = buffer.batches.shift()
    buffer.bytes -= sizeOf(batch ?? [])
    if (state.is === 'full' && buffer.bytes < resumeBelowBytes) {
      state = { is: 'reading' }
      if (next < end) resume()
    }
    return batch
  }

  function fail(error: unknown) {
    if (state.is !== 'failed') state = { is: 'failed', error }
    arrived.resolve()
  }

  async function arrival() {
    await withDeadline(arrived.promise, idleTimeoutMs, () =>
      fail(new Error(`The event log sent nothing for ${idleTimeoutMs} ms.`)),
    )
    arrived = Promise.withResolvers()
  }

  async function* batches() {
    for (;;) {
      const batch = take()
      if (batch !== undefined) yield batch
      else if (next >= end) return
      else if (state.is === 'failed') throw state.error
      else await arrival()
    }
  }

  return { next: () => next, wantsMore: () => state.is === 'reading' && next < end, push, fail, batches }
}

function sizeOf(records: readonly LogRecord[]): number {
  return records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0) + bytesPerRecord, 0)
}
