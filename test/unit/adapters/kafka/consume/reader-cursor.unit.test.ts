import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCursor } from '#shared/adapters/kafka/consume/reader-cursor.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { logRecord } from '#test/support/builders/log-record.ts'

const record = (offset: number, bytes = 1): LogRecord =>
  logRecord({
    ...{ topic: 'contact-import.imports', partition: 0, offset, appendedAt: 0 },
    ...{ key: null, headers: {}, value: new Uint8Array(bytes) },
  })

describe('reader cursor', () => {
  const pause = vi.fn()
  const resume = vi.fn()
  const cursorOf = (from: number, end: number) => createCursor({ from, end, pause, resume, idleTimeoutMs: 1_000 })
  beforeEach(() => {
    vi.useFakeTimers()
    pause.mockClear()
    resume.mockClear()
  })
  afterEach(() => void vi.useRealTimers())

  it('yields each record of its range once', async () => {
    const cursor = cursorOf(2, 5)
    cursor.push([record(0), record(1), record(2), record(3)], 3)
    cursor.push([record(3), record(4), record(5)], 5)
    expect((await Array.fromAsync(cursor.batches())).flat().map(({ offset }) => offset)).toEqual([2, 3, 4])
    expect(cursor.wantsMore()).toBe(false)
    expect(pause).toHaveBeenCalled()
  })

  it('ends when the last offsets have no records', async () => {
    const cursor = cursorOf(0, 3)
    cursor.push([record(0)], 0)
    cursor.push([], 2)
    expect(await Array.fromAsync(cursor.batches())).toHaveLength(1)
  })

  it('pauses fetching while its caller is slow, and resumes fetching later', async () => {
    const cursor = cursorOf(0, 10)
    const megabytes = (offset: number) => [record(offset, 3 * 1024 * 1024)]
    const batches = cursor.batches()
    for (const offset of [0, 1, 2]) cursor.push(megabytes(offset), offset)
    expect(pause).toHaveBeenCalledOnce()
    expect(cursor.wantsMore()).toBe(false)
    await batches.next()
    expect(resume).not.toHaveBeenCalled()
    await batches.next()
    expect(resume).toHaveBeenCalledOnce()
    expect(cursor.wantsMore()).toBe(true)
  })

  it('throws when no record arrives for too long, but not when its caller is slow', async () => {
    const cursor = cursorOf(0, 3)
    const batches = cursor.batches()
    cursor.push([record(0)], 0)
    await batches.next()
    await vi.advanceTimersByTimeAsync(5_000)
    cursor.push([record(1)], 1)
    expect((await batches.next()).value).toMatchObject([{ offset: 1 }])
    const overdue = expect(batches.next()).rejects.toThrow('sent nothing for 1000 ms')
    await vi.advanceTimersByTimeAsync(1_001)
    await overdue
  })

  it('throws the given error after the buffered records', async () => {
    const cursor = cursorOf(0, 3)
    cursor.push([record(0)], 0)
    cursor.fail(new Error('stopped'))
    const batches = cursor.batches()
    expect((await batches.next()).value).toMatchObject([{ offset: 0 }])
    await expect(batches.next()).rejects.toThrow('stopped')
  })
})
