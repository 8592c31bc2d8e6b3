import { AssignerProtocol, type GroupMember, type PartitionAssigner } from 'kafkajs'
import { assignPartitions, type Member } from './assign-partitions.ts'

export type AssignerOptions = {
  readonly owned: () => readonly number[]
  /** Partitions that this process owned as a former member. */
  readonly wished: () => readonly number[]
  /** Called before each JoinGroup request. After the request, other members may own this member's partitions. */
  readonly joining: () => void
}

const { MemberMetadata, MemberAssignment } = AssignerProtocol
const version = 1

/**
 * A member owns the same partition numbers in every topic and keeps as many as possible in a rebalance. Change `name`
 * when the meaning of the user data changes.
 */
export function createCoPartitioningAssigner({ owned, wished, joining }: AssignerOptions): PartitionAssigner {
  const name = 'co-partitioning-sticky'
  return ({ cluster }) => ({
    name,
    version,
    protocol({ topics }) {
      joining()
      const userData = Buffer.from(JSON.stringify({ owned: owned(), wished: wished() }))
      return { name, metadata: MemberMetadata.encode({ version, topics, userData }) }
    },
    async assign({ members, topics }) {
      const counts = new Map(topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).length]))
      const shares = assignPartitions(members.map(toMember), Math.max(0, ...counts.values()))
      return [...shares].map(([memberId, partitions]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version,
          userData: Buffer.alloc(0),
          assignment: Object.fromEntries(
            [...counts].map(([topic, count]) => [topic, partitions.filter((partition) => partition < count)]),
          ),
        }),
      }))
    },
  })
}

function toMember({ memberId, memberMetadata }: GroupMember): Member {
  const userData = MemberMetadata.decode(memberMetadata)?.userData
  return { memberId, ...readUserData(userData) }
}

/** Members of an earlier release send no `wished`. */
function readUserData(userData: Buffer | undefined): Omit<Member, 'memberId'> {
  try {
    const parsed: unknown = JSON.parse(userData?.toString('utf8') ?? '')
    if (typeof parsed !== 'object' || parsed === null) return { owned: [], wished: [] }
    return {
      owned: 'owned' in parsed ? partitionsIn(parsed.owned) : [],
      wished: 'wished' in parsed ? partitionsIn(parsed.wished) : [],
    }
  } catch {
    return { owned: [], wished: [] }
  }
}

const partitionsIn = (value: unknown): number[] =>
  Array.isArray(value) ? value.filter((one): one is number => Number.isInteger(one)) : []
