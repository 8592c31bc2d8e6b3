import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assignPartitions, type Member } from '#shared/adapters/kafka/consume/assign-partitions.ts'

const claims = fc.array(fc.integer({ min: -1, max: 14 }), { maxLength: 14 })
const members = fc.uniqueArray(fc.record({ memberId: fc.uuid(), owned: claims, wished: claims }), {
  minLength: 1,
  maxLength: 8,
  selector: ({ memberId }) => memberId,
})
const counts = fc.integer({ min: 0, max: 24 })

const asMembers = (shares: ReadonlyMap<string, number[]>): Member[] =>
  [...shares].map(([memberId, owned]) => ({ memberId, owned, wished: [] }))
const keptOf = (before: readonly Member[], shares: ReadonlyMap<string, number[]>) =>
  before.reduce((kept, { memberId, owned }) => kept + owned.filter((p) => shares.get(memberId)?.includes(p)).length, 0)

describe('assignPartitions', () => {
  it('assigns every partition to exactly one member', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        const given = [...assignPartitions(group, count).values()].flat().sort((a, b) => a - b)
        expect(given).toEqual(Array.from({ length: count }, (_, partition) => partition))
      }),
    )
  })

  it('the numbers of partitions of two members differ by at most one', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        const sizes = [...assignPartitions(group, count).values()].map(({ length }) => length)
        expect(sizes).toHaveLength(group.length)
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('the result does not depend on the order of the members', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        expect(assignPartitions([...group].reverse(), count)).toEqual(assignPartitions(group, count))
      }),
    )
  })

  it('moves no partition when the members are the same', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        const first = assignPartitions(group, count)
        expect(assignPartitions(asMembers(first), count)).toEqual(first)
      }),
    )
  })

  it('moves only the partitions that a new member gets', () => {
    fc.assert(
      fc.property(members, counts, fc.uuid(), (group, count, newcomer) => {
        fc.pre(group.every(({ memberId }) => memberId !== newcomer))
        const before = asMembers(assignPartitions(group, count))
        const shares = assignPartitions([...before, { memberId: newcomer, owned: [], wished: [] }], count)
        expect(keptOf(before, shares)).toBe(count - (shares.get(newcomer)?.length ?? 0))
      }),
    )
  })

  it('moves only the partitions of a member that left', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        fc.pre(group.length > 1)
        const [gone, ...rest] = asMembers(assignPartitions(group, count))
        expect(keptOf(rest, assignPartitions(rest, count))).toBe(count - (gone?.owned.length ?? 0))
      }),
    )
  })

  it('takes no partition from its owner when another member asks for it', () => {
    fc.assert(
      fc.property(members, counts, claims, (group, count, wished) => {
        const before = asMembers(assignPartitions(group, count))
        const wishing = before.map((member) => ({ ...member, wished }))
        expect(assignPartitions(wishing, count)).toEqual(assignPartitions(before, count))
      }),
    )
  })

  it('returns its partitions to a member that left and joined again as a new member', () => {
    fc.assert(
      fc.property(members, counts, (group, count) => {
        const before = asMembers(assignPartitions(group, count))
        const [gone, ...rest] = before
        if (gone === undefined) return
        const again = { memberId: `${gone.memberId} again`, owned: [], wished: gone.owned }
        const shares = assignPartitions([...rest, again], count)
        expect(shares.get(again.memberId)).toEqual(gone.owned)
        expect(keptOf(rest, shares)).toBe(count - gone.owned.length)
      }),
    )
  })
})
