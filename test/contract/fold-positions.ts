import { expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { FoldPositions } from '#shared/ports/import-jobs.ts'

const imports = (partition: number) => ({ topic: topics.imports.name, partition })
const deliveries = (partition: number) => ({ topic: topics.deliveries.name, partition })

export function foldPositionsContract(open: () => FoldPositions): void {
  test('a partition has no position before the first advance', async () => {
    const jobs = open()
    expect(await jobs.advance([])).toBe(true)
    expect(await jobs.positions([imports(0), deliveries(11)])).toEqual([])
  })

  test('positions are stored per topic and partition', async () => {
    const jobs = open()
    const reached = [
      { ...imports(1), to: 10 },
      { ...deliveries(1), to: 2 ** 40 },
      { ...deliveries(11), to: 0 },
    ]
    expect(await jobs.advance(reached.map((one) => ({ ...one, from: null })))).toBe(true)
    const found = await jobs.positions([imports(1), deliveries(1), deliveries(11), imports(11)])
    expect(found).toHaveLength(3)
    expect(found).toEqual(expect.arrayContaining(reached.map(({ to: offset, ...place }) => ({ ...place, offset }))))
  })

  test('advance moves a position forward, never back', async () => {
    const jobs = open()
    await jobs.advance([{ ...imports(3), from: null, to: 10 }])
    expect(await jobs.advance([{ ...imports(3), from: 10, to: 12 }])).toBe(true)
    expect(await jobs.advance([{ ...imports(3), from: 10, to: 11 }])).toBe(true)
    expect(await jobs.advance([{ ...imports(3), from: null, to: 5 }])).toBe(true)
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 12 }])
  })

  test('a position that is missing or below its expected value blocks only its partition number', async () => {
    const jobs = open()
    const places = [imports(3), deliveries(3), imports(4), deliveries(4)]
    await jobs.advance(places.map((place) => ({ ...place, from: null, to: 10 })))
    const tooFar = { ...imports(3), from: 11, to: 12 }
    const others = [deliveries(3), imports(4), deliveries(4)].map((place) => ({ ...place, from: 10, to: 15 }))
    expect(await jobs.advance([tooFar, ...others])).toBe(false)
    expect(await jobs.advance([{ ...imports(5), from: 1, to: 2 }])).toBe(false)
    expect(await jobs.positions([...places, imports(5)])).toEqual([
      { ...imports(3), offset: 10 },
      { ...deliveries(3), offset: 10 },
      { ...imports(4), offset: 15 },
      { ...deliveries(4), offset: 15 },
    ])
  })

  test('a position is returned with the record below it, unless the last writer gave no record', async () => {
    const jobs = open()
    const before = { offset: 9, appendedAt: 1_769_851_800_000 }
    await jobs.advance([{ ...imports(3), from: null, to: 10, before }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 10, before }])
    const earlier = { offset: 7, appendedAt: 1_769_851_900_000 }
    await jobs.advance([{ ...imports(3), from: null, to: 8, before: earlier }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 10, before }])
    await jobs.advance([{ ...imports(3), from: 10, to: 2 ** 44 + 5 }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 2 ** 44 + 5 }])
  })

  test('the version of the fold is stored with the first position of a partition number and stays', async () => {
    const jobs = open()
    await jobs.advance([{ ...imports(3), from: null, to: 10, foldVersion: 2 }])
    await jobs.advance([
      { ...imports(3), from: null, to: 0, foldVersion: 3 },
      { ...deliveries(3), from: null, to: 4, foldVersion: 3 },
    ])
    await jobs.advance([{ ...imports(3), from: 10, to: 11 }])
    expect(await jobs.positions([imports(3), deliveries(3)])).toEqual([
      { ...imports(3), offset: 11, foldVersion: 2 },
      { ...deliveries(3), offset: 4, foldVersion: 2 },
    ])
    await jobs.advance([{ ...imports(4), from: null, to: 10 }])
    await jobs.advance([{ ...imports(4), from: null, to: 10, foldVersion: 2 }])
    expect(await jobs.positions([imports(4)])).toEqual([{ ...imports(4), offset: 10 }])
  })

  test('advance stores the position of a second topic', async () => {
    const jobs = open()
    await jobs.advance([{ ...imports(3), from: null, to: 10 }])
    const both = [
      { ...imports(3), from: 10, to: 11 },
      { ...deliveries(3), from: null, to: 4 },
    ]
    expect(await jobs.advance(both)).toBe(true)
    expect(await jobs.positions([imports(3), deliveries(3)])).toEqual([
      { ...imports(3), offset: 11 },
      { ...deliveries(3), offset: 4 },
    ])
  })
}
