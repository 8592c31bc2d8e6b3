import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import {
  createPartitionProjector,
  type PartitionProjector,
  type PartitionProjectorDeps,
} from './partition-projector.ts'

export type Projector = {
  start(): Promise<void>
  stop(): Promise<void>
  /** Reopens each partition whose collections changed or whose database was restored to an earlier state. */
  reopenChanged(): Promise<void>
  /** Reopens each partition whose log lost records that were read. */
  reopenIfLogChanged(): Promise<void>
  /** Must be called after an offset limit has changed. */
  wake(): void
  /** The next offset to project, for each open partition. */
  reached(): readonly Position[]
}

/** Updates the read model from the log. Starts at the positions that are stored in the database. */
export function createProjector(deps: PartitionProjectorDeps): Projector {
  const { subscription, collections, log } = deps
  let partitions: ReadonlyMap<number, PartitionProjector> = new Map()
  let stopped: Promise<void> | null = null

  function assigned(assignment: readonly TopicPartition[]): void {
    const finished = new Map([...partitions].map(([partition, former]) => [partition, former.close()]))
    if (stopped !== null) return
    const byNumber = Map.groupBy(assignment, ({ partition }) => partition)
    partitions = new Map(
      [...byNumber].map(([partition, topics]) => {
        const former = finished.get(partition) ?? Promise.resolve()
        return [partition, createPartitionProjector(deps, { partition, topics }, former)]
      }),
    )
    log.info({ partitions: [...partitions.keys()] }, 'partitions assigned')
  }

  async function stop(): Promise<void> {
    await Promise.all([...partitions.values()].map((one) => one.close()))
    await subscription.stop()
    log.info({}, 'projector stopped')
  }

  return {
    start: () =>
      subscription.start({
        assigned,
        rebalancing() {},
        records: (records) => partitions.get(records[0]?.partition ?? -1)?.records(records),
      }),
    stop() {
      stopped ??= stop()
      return stopped
    },
    async reopenChanged() {
      const { revision } = await collections.current()
      for (const one of partitions.values()) await one.reopenIfChanged(revision)
    },
    async reopenIfLogChanged() {
      for (const one of partitions.values()) await one.reopenIfLogChanged()
    },
    wake() {
      for (const one of partitions.values()) one.wake()
    },
    reached: () => [...partitions.values()].flatMap((one) => one.reached()),
  }
}
