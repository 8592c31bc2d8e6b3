import kafkajs, { type Cluster, type Logger } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { createCoPartitioningAssigner } from '#shared/adapters/kafka/consume/assigner.ts'

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol
const topics = ['imports', 'deliveries']

const clusterWith = (partitions: number) =>
  ({
    findTopicPartitionMetadata: () => Array.from({ length: partitions }, (_, partitionId) => ({ partitionId })),
  }) as unknown as Cluster

const assignerOf = (owned: readonly number[] = [], joining = () => {}, wished: readonly number[] = []) =>
  createCoPartitioningAssigner({ owned: () => owned, wished: () => wished, joining })({
    cluster: clusterWith(4),
    groupId: 'g',
    logger: {} as Logger,
  })

describe('the co-partitioning assigner', () => {
  it('assigns the same partitions of every topic to a member, and members keep their partitions', async () => {
    const assigner = assignerOf()
    const members = [
      { memberId: 'a', memberMetadata: assignerOf([3, 1]).protocol({ topics }).metadata },
      { memberId: 'b', memberMetadata: assignerOf().protocol({ topics }).metadata },
    ]
    const shares = await assigner.assign({ members, topics })
    expect(
      shares.map(({ memberId, memberAssignment }) => [memberId, MemberAssignment.decode(memberAssignment)?.assignment]),
    ).toEqual([
      ['a', { imports: [1, 3], deliveries: [1, 3] }],
      ['b', { imports: [0, 2], deliveries: [0, 2] }],
    ])
  })

  it('assigns wished partitions that no member owns', async () => {
    const assigner = assignerOf()
    const members = [
      { memberId: 'a', memberMetadata: assignerOf([0]).protocol({ topics }).metadata },
      { memberId: 'b', memberMetadata: assignerOf([], () => {}, [0, 2, 3]).protocol({ topics }).metadata },
    ]
    const shares = await assigner.assign({ members, topics })
    expect(
      shares.map(({ memberId, memberAssignment }) => [memberId, MemberAssignment.decode(memberAssignment)?.assignment]),
    ).toEqual([
      ['a', { imports: [0, 1], deliveries: [0, 1] }],
      ['b', { imports: [2, 3], deliveries: [2, 3] }],
    ])
  })

  it('treats a member with unreadable user data as owning nothing', async () => {
    const unreadable = ['', '{', '[]', '{"owned":"all"}', '{"owned":[null,"1"]}'].map((text, n) => ({
      memberId: `m${n}`,
      memberMetadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.from(text) }),
    }))
    expect(await assignerOf().assign({ members: unreadable, topics })).toHaveLength(unreadable.length)
  })

  it('calls joining before each request to join', () => {
    let joins = 0
    const assigner = assignerOf([], () => {
      joins += 1
    })
    assigner.protocol({ topics })
    assigner.protocol({ topics })
    expect(joins).toBe(2)
  })
})
