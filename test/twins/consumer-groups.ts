import { partitionCount, type TopicName } from '#schemas/events/catalogue.ts'
import { assignPartitions } from '#shared/adapters/kafka/consume/assign-partitions.ts'
import type { CommittedPosition, TopicPartition } from '#shared/ports/subscription.ts'

export type GroupMember = {
  readonly id: string
  readonly topics: readonly TopicName[]
  rebalancing(): void
  assigned(partitions: readonly TopicPartition[]): void
}

/** Members, owned partitions and committed positions of the consumer groups of the in-memory log. */
export type MemoryGroups = {
  join(groupId: string, member: GroupMember): void
  leave(groupId: string, member: GroupMember): void
  owns(groupId: string, memberId: string, partition: TopicPartition): boolean
  commit(groupId: string, positions: readonly CommittedPosition[]): void
  committed(groupId: string): readonly CommittedPosition[]
}

type Group = {
  members: GroupMember[]
  shares: Map<string, number[]>
  readonly positions: Map<string, CommittedPosition>
}

export function createMemoryGroups(): MemoryGroups {
  const groups = new Map<string, Group>()

  function groupOf(groupId: string): Group {
    const known = groups.get(groupId) ?? { members: [], shares: new Map(), positions: new Map() }
    groups.set(groupId, known)
    return known
  }

  /** As in Kafka, all members get `rebalancing` before any gets `assigned`. */
  function rebalance(group: Group, members: GroupMember[]) {
    for (const member of group.members) if (group.shares.has(member.id)) member.rebalancing()
    group.members = members
    if (members.length === 0) {
      group.shares = new Map()
      return
    }
    const before = members.map(({ id }) => ({ memberId: id, owned: group.shares.get(id) ?? [], wished: [] }))
    group.shares = assignPartitions(before, partitionCount)
    for (const { id, topics, assigned } of members) {
      const owned = group.shares.get(id) ?? []
      assigned(topics.flatMap((topic) => owned.map((partition) => ({ topic, partition }))))
    }
  }

  return {
    join(groupId, member) {
      const group = groupOf(groupId)
      rebalance(group, [...group.members, member])
    },
    leave(groupId, member) {
      const group = groupOf(groupId)
      group.shares.delete(member.id)
      rebalance(
        group,
        group.members.filter((one) => one !== member),
      )
    },
    owns: (groupId, memberId, { partition }) => groupOf(groupId).shares.get(memberId)?.includes(partition) ?? false,
    commit(groupId, positions) {
      for (const position of positions)
        groupOf(groupId).positions.set(`${position.topic}/${position.partition}`, position)
    },
    committed: (groupId) => [...groupOf(groupId).positions.values()],
  }
}
