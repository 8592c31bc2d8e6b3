import type { LogRecord } from '#shared/ports/event-log.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import { createPartition, type Partition, type PartitionDeps } from './partition/partition.ts'
import type { PartitionInput } from './partition/partition-state.ts'
import { type ByteBudget, shareOf } from './partition/partition-window.ts'
import { createPositionLookup, type PositionLookup } from './partition/position-lookup.ts'

/** `offsets`: the limit of one window. `bytes`: the limits of all windows together. */
export type WindowBudget = { readonly offsets: number; readonly bytes: ByteBudget }

export type OwnedPartitionsDeps = Omit<PartitionDeps, 'commit' | 'windowLimits'> & { readonly windows: WindowBudget }

type Options = Pick<PartitionDeps, 'commit'> & { readonly isStopping: () => boolean }

/** The partitions that the group assigned to this member. */
export function createOwnedPartitions(deps: OwnedPartitionsDeps, { commit, isStopping }: Options) {
  const owned = new Map<number, Partition>()
  let breakerOpen = false
  const busyCount = (): number => {
    let count = 0
    for (const partition of owned.values()) if (partition.isBusy()) count += 1
    return count
  }
  const bytes = (): number => shareOf(deps.windows.bytes, busyCount())
  const partitionDeps: PartitionDeps = { ...deps, commit, windowLimits: { offsets: deps.windows.offsets, bytes } }
  const positions = createPositionLookup({ ...deps, isStopping })

  const add = (numbers: readonly number[]): void => {
    const added = numbers.map((number) => createPartition(number, breakerOpen, partitionDeps))
    for (const partition of added) owned.set(partition.partition, partition)
    void positions.open(added)
  }
  const reopen = (partition: Partition): void => {
    if (isStopping() || owned.get(partition.partition) !== partition) return
    partition.handle({ is: 'lose' })
    add([partition.partition])
  }

  return {
    ...logChecks({ owned, positions, reopen }),
    get: (partition: number) => owned.get(partition),
    all: (): readonly Partition[] => [...owned.values()],
    handleAll(input: PartitionInput): void {
      if (input.is === 'breakerChecked') breakerOpen = input.open
      for (const partition of owned.values()) partition.handle(input)
    },
    /** `memberKept` is false when another member may have owned the partitions meanwhile. Then all reopen. */
    assign(places: readonly TopicPartition[], memberKept: boolean): void {
      const assigned = places.map(({ partition }) => partition)
      for (const [number, partition] of [...owned]) {
        if (memberKept && assigned.includes(number)) partition.handle({ is: 'kept' })
        else {
          owned.delete(number)
          partition.handle({ is: 'lose' })
        }
      }
      const added = assigned.filter((number) => !owned.has(number))
      add(added)
      deps.log.info({ partitions: assigned, adopted: added.length, member_kept: memberKept }, 'partitions assigned')
    },
  }
}

type LogChecks = {
  readonly owned: ReadonlyMap<number, Partition>
  readonly positions: PositionLookup
  readonly reopen: (partition: Partition) => void
}

function logChecks({ owned, positions, reopen }: LogChecks) {
  return {
    /** A new leader may lack records that were read or appended. Its records are accepted only after a comparison. */
    receive(records: readonly LogRecord[]): void | Promise<void> {
      const newest = records.at(-1)
      const partition = owned.get(newest?.partition ?? -1)
      if (newest === undefined || partition === undefined) return
      const accept = (): void => partition.handle({ is: 'recordsReceived', records })
      const last = partition.lastRead()
      if (last === null || last.leaderEpoch === newest.leaderEpoch) return accept()
      return positions.stillHas(partition, last).then((isSame) => (isSame ? accept() : reopen(partition)))
    },
    /** Opens a partition again when the log no longer has the last record that was read. */
    async checkLog(): Promise<void> {
      for (const partition of owned.values()) {
        const last = partition.lastRead()
        if (last === null) continue
        // If the log cannot be reached, the next check compares again.
        const isSame = await positions.stillHas(partition, last).catch(() => true)
        if (!isSame) reopen(partition)
      }
    },
  }
}
