import type { LogRecord } from '#shared/ports/event-log.ts'

export type CursorOptions = {
  readonly from: number
  /** The offset that ends the read; it is not part of it. */
  readonly end: number
  readonly pause: () => void
  readonly resume: () => void
  /** How long nothing may arrive while somebody waits for it, in milliseconds. */
  readonly idleTimeoutMs: number
}

export type Cursor = {
  /** The offset wanted next. */
  next(): number
  wantsMore(): boolean
  push(records: readonly LogRecord[], passedOffset: number): void
  /** Ends the read for whoever waits. */
  fail(error: unknown): void
  records(): AsyncGenerator<LogRecord, void, undefined>
}

/** What waits for a slow reader: above the first bound the partition is paused, below the second resumed. */
const pauseAboveBytes = 8 * 1024 * 1024
const resumeBelowBytes = 4 * 1024 * 1024
/** A record's headers and objects; with small values they are nearly all of it. */
const bytesPerRecord = 2 * 1024

/** One read under way: takes batches as they come, gives records as they are asked for, and holds back the difference. */
export function createCursor({ from, end, pause, resume, idleTimeoutMs }: CursorOptions): Cursor {
  const batches: LogRecord[][] = []
  let bytes = 0
  let next = from
  let full = false
  let failure: { error: unknown } | null = null
  let arrived = Promise.withResolvers<void>()

  function push(records: readonly LogRecord[], passedOffset: number) {
    const wanted = records.filter(({ offset }) => offset >= next && offset < end)
    if (wanted.length > 0) batches.push(wanted)
    bytes += sizeOf(wanted)
    next = Math.max(next, passedOffset + 1)
    full = bytes > pauseAboveBytes
    if (full || next >= end) pause()
    arrived.resolve()
  }

  function take(): LogRecord[] | undefined {
    const batch = batches.shift()
    bytes -= sizeOf(batch ?? [])
    if (full && bytes < resumeBelowBytes) {
      full = false
      if (next < end) resume()
    }
    return batch
  }

  async function arrival() {
    const timer = setTimeout(() => {
      failure ??= { error: new Error(`The event log sent nothing for ${idleTimeoutMs} ms.`) }
      arrived.resolve()
    }, idleTimeoutMs)
    await arrived.promise
    clearTimeout(timer)
    arrived = Promise.withResolvers()
  }

  async function* records() {
    for (;;) {
      const batch = take()
      if (batch !== undefined) yield* batch
      else if (next >= end) return
      else if (failure !== null) throw failure.error
      else await arrival()
    }
  }

  return {
    next: () => next,
    wantsMore: () => !full && next < end,
    push,
    fail(error) {
      failure ??= { error }
      arrived.resolve()
    },
    records,
  }
}

function sizeOf(records: readonly LogRecord[]): number {
  return records.reduce((sum, { value }) => sum + (value?.byteLength ?? 0) + bytesPerRecord, 0)
}
