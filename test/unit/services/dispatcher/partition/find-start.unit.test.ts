import { describe, expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { findStart } from '#services/dispatcher/partition/find-start.ts'
import type { LogRange } from '#shared/ports/subscription.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryLogHistory } from '#test/twins/subscription.ts'

const place = { topic: topics.imports.name, partition: 2 }
const hours = 60 * 60_000
const begin = 1_700_000_000_000

/** One record per hour. */
async function logOf(records: number) {
  let now = begin
  const log = createMemoryEventLog({ now: () => now })
  const append = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      await log.append([{ ...place, key: 'k', headers: {}, value: new Uint8Array() }])
      now += hours
    }
  }
  await append(records)
  const history = createMemoryLogHistory(log)
  const start = async (offset: number | null, metadata: string, range: Partial<LogRange> = {}) => {
    const [whole] = await history.ranges([place])
    if (whole === undefined) throw new Error('no partition')
    return await findStart(history, { ...place, offset, metadata }, { ...whole, ...range })
  }
  return { log, append, history, start }
}
const drainedAfter = (offset: number) => `drained after ${offset}@${begin + offset * hours}`
const drained = { is: 'drained' } as const

describe('a partition starts', () => {
  test('at the start of the log when the group has no committed offset', async () => {
    const { history } = await logOf(3)
    const start = await findStart(history, undefined, { ...place, start: 1, end: 3 })
    expect(start).toEqual({ offset: 1, metadata: null, before: null, needs: null, rereadTo: null, fault: null })
  })

  test('at the committed offset when the log has the record below it', async () => {
    const { start } = await logOf(5)
    const before = { offset: 3, appendedAt: begin + 3 * hours }
    const unchanged = { offset: 4, metadata: drained, needs: null, rereadTo: null, fault: null }
    expect(await start(4, drainedAfter(3))).toEqual({ ...unchanged, before })
    expect(await start(4, drainedAfter(3), { start: 4 })).toEqual({ ...unchanged, before })
    expect(await start(4, 'drained')).toEqual({ ...unchanged, before: null })
  })

  test('one look-back before the last finished record when the log ends below the committed offset', async () => {
    const { log, start } = await logOf(30)
    log.cut(place.topic, place.partition, 25)
    expect(await start(30, drainedAfter(29))).toMatchObject({ offset: 25, rereadTo: 25, fault: 'beyond_end' })
    expect(await start(27, drainedAfter(10))).toMatchObject({ offset: 9, rereadTo: 25, fault: 'beyond_end' })
    expect(await start(27, 'drained')).toMatchObject({ offset: 0, rereadTo: 25, fault: 'beyond_end' })
  })

  test('one look-back before the last finished record when the log has another record below the committed offset', async () => {
    const { log, append, start } = await logOf(30)
    log.cut(place.topic, place.partition, 20)
    await append(20)
    expect(await start(30, drainedAfter(29))).toMatchObject({
      offset: 20,
      rereadTo: 40,
      before: null,
      fault: 'other_record',
    })
    expect(await start(20, drainedAfter(19))).toMatchObject({ offset: 20, rereadTo: null, fault: null })
  })

  test('at the start of the log when the committed offset is deleted, invalid or of a new topic', async () => {
    const { log, append, start } = await logOf(30)
    expect(await start(3, drainedAfter(2), { start: 10 })).toMatchObject({ offset: 10, rereadTo: 30, fault: 'deleted' })
    const invalid = { offset: 0, rereadTo: 30, fault: 'invalid', metadata: { is: 'open', by: '' } }
    expect(await start(null, '')).toMatchObject(invalid)
    log.cut(place.topic, place.partition, 0)
    await append(2)
    expect(await start(30, drainedAfter(29))).toMatchObject({ offset: 0, rereadTo: 2, fault: 'beyond_end' })
  })

  test('below the committed offset when the log lost a repeat above it', async () => {
    const { log, append, start } = await logOf(5)
    const metadata = `drained needs 4@${begin + 4 * hours} after 2@${begin + 2 * hours}`
    const needs = { offset: 4, appendedAt: begin + 4 * hours }
    expect(await start(3, metadata)).toMatchObject({ offset: 3, needs, rereadTo: null, fault: null })
    log.cut(place.topic, place.partition, 4)
    expect(await start(3, metadata)).toMatchObject({ needs: null, rereadTo: 4, fault: 'other_record' })
    await append(1)
    expect(await start(3, metadata)).toMatchObject({ needs: null, rereadTo: 5, fault: 'other_record' })
  })

  test('at the log start when a log that is read again lost records once more', async () => {
    const { start } = await logOf(5)
    const metadata = `drained needs 1@${begin + 1 * hours + 5_000} after unknown`
    expect(await start(2, metadata)).toMatchObject({ offset: 0, rereadTo: 5, fault: 'other_record' })
  })

  test('at the committed offset when a former owner was reading again', async () => {
    const { start } = await logOf(5)
    expect(await start(2, 'drained after unknown')).toMatchObject({ offset: 2, rereadTo: 5, fault: null })
  })
})
