import type { LogRecord } from '#shared/ports/event-log.ts'
import type { ImportJobWriter } from '#shared/ports/import-jobs.ts'
import type { Position, Subscription, TopicPartition } from '#shared/ports/subscription.ts'
import type { Log } from '#shared/runtime/log.ts'
import { type AnnounceEnds, foldBatch, isBehind, openPositions } from './fold-batch.ts'
import { toFoldItem } from './fold-item.ts'
import { enqueue, hasRoom, isFull, type Lane, leave, newLane, nextBatch, openingOf, reachedBy } from './lane.ts'

const firstRetryMs = 250
const lastRetryMs = 2_000

/** The collections that the records go into now, the one that is read first. */
export type ReadModelStores = {
  current(): Promise<{ readonly revision: number; readonly stores: readonly ImportJobWriter[] }>
  /** Told when a partition's records go where this revision says, and nothing of it is written elsewhere any more. */
  follows(partition: number, revision: number): Promise<void>
}

type Deps = {
  readonly subscription: Subscription
  readonly readModel: ReadModelStores
  /** Records at or beyond this offset wait for `wake`; there is no limit when absent. */
  readonly limitOf?: (partition: TopicPartition) => number
  /** Told of jobs that end in the collection that is read; a read model that is only built announces nothing. */
  readonly announceEnds?: AnnounceEnds
  readonly pause: (ms: number) => Promise<void>
  readonly log: Log
}

export type Projector = {
  start(): Promise<void>
  stop(): Promise<void>
  /**
   * Looks whether the records go elsewhere now or the store was put back to an earlier state, and opens the partitions
   * concerned anew. A partition with traffic notices by itself that it was put back.
   */
  follow(): Promise<void>
  /** To be called when a limit has moved. */
  wake(): void
  /** Up to where each opened partition is folded. */
  reached(): readonly Position[]
}

/** Keeps the read model up with the log, from the positions stored beside it. */
export function createProjector(deps: Deps): Projector {
  const { subscription, readModel, announceEnds, limitOf = () => Number.POSITIVE_INFINITY, pause, log } = deps
  let lanes = new Map<number, Lane>()
  let stopping = false

  const isOver = (lane: Lane): boolean => lane.lost || stopping

  /** False when the lane was lost before the step succeeded. */
  async function persist(lane: Lane, what: string, step: () => Promise<void>): Promise<boolean> {
    for (let delay = firstRetryMs; !isOver(lane); delay = Math.min(lastRetryMs, delay * 2)) {
      try {
        await step()
        return true
      } catch (error) {
        log.warn({ partition: lane.partition, err: error }, `${what} failed; trying again`)
        await pause(delay)
      }
    }
    return false
  }

  /** Reads on from the stored positions: a restored database replays what it lacks. */
  async function open(lane: Lane, before: Lane | undefined): Promise<void> {
    await before?.running
    await persist(lane, 'opening a partition', async () => {
      const now = await readModel.current()
      const beginnings = await subscription.beginnings(lane.partitions)
      const stores = []
      for (const jobs of now.stores) stores.push({ jobs, stored: await openPositions(jobs, beginnings) })
      await readModel.follows(lane.partition, now.revision)
      if (isOver(lane)) return
      lane.revision = now.revision
      lane.stores = stores
      lane.opened = openingOf(stores, beginnings)
      for (const position of lane.opened) subscription.open(position)
    })
  }

  /** The same partition anew. What is still fetched for the lane before is not taken: this one is not opened yet. */
  function reopen(lane: Lane): void {
    lane.lost = true
    const next = newLane(lane.partition, lane.partitions)
    lanes.set(lane.partition, next)
    void open(next, lane)
  }

  function replay(lane: Lane): void {
    log.warn({ partition: lane.partition }, 'the read model is older than it was; reading again what it lacks')
    reopen(lane)
  }

  async function isPutBack({ stores }: Lane): Promise<boolean> {
    for (const { jobs, stored } of stores) {
      if (isBehind(await jobs.positions(stored), stored)) return true
    }
    return false
  }

  function hold(lane: Lane): void {
    if (isOver(lane)) return
    for (const place of lane.partitions) {
      if (isFull(lane, place.topic) && !lane.paused.has(place.topic)) {
        lane.paused.add(place.topic)
        subscription.pause(place)
      } else if (hasRoom(lane, place.topic) && lane.paused.delete(place.topic)) {
        subscription.resume(place)
      }
    }
  }

  async function work(lane: Lane): Promise<void> {
    for (let batch = nextBatch(lane, limitOf); batch.length > 0; batch = nextBatch(lane, limitOf)) {
      let putBack = false
      const done = await persist(lane, 'writing the read model', async () => {
        for (const [place, store] of lane.stores.entries()) {
          const announcing = place === 0 && announceEnds !== undefined ? { announceEnds } : {}
          const reached = await foldBatch({ ...store, items: batch, ...announcing })
          if (reached === null) putBack = true
          else store.stored = reached
        }
      })
      if (!done) return
      if (putBack) return replay(lane)
      leave(lane, batch)
      hold(lane)
    }
  }

  function run(lane: Lane): void {
    if (lane.running !== null || isOver(lane)) return
    lane.running = work(lane).finally(() => {
      lane.running = null
    })
  }

  function assigned(partitions: readonly TopicPartition[]): void {
    const before = lanes
    for (const lane of before.values()) lane.lost = true
    const byNumber = Map.groupBy(partitions, ({ partition }) => partition)
    lanes = new Map([...byNumber].map(([partition, places]) => [partition, newLane(partition, places)]))
    for (const lane of lanes.values()) void open(lane, before.get(lane.partition))
    log.info({ partitions: [...lanes.keys()] }, 'partitions assigned')
  }

  function records(given: readonly LogRecord[]): void {
    const lane = lanes.get(given[0]?.partition ?? -1)
    if (lane === undefined || lane.opened.length === 0 || isOver(lane)) return
    const items = given.map((record) => toFoldItem(record, log))
    enqueue(lane, items)
    hold(lane)
    run(lane)
  }

  return {
    start: () => subscription.start({ assigned, rebalancing() {}, records }),
    async stop() {
      if (stopping) return
      stopping = true
      await Promise.all([...lanes.values()].map((lane) => lane.running))
      await subscription.stop()
      log.info({}, 'projector stopped')
    },
    async follow() {
      const now = await readModel.current()
      const opened = [...lanes.values()].filter((lane) => lane.revision !== null && !isOver(lane))
      for (const lane of opened) {
        if (lane.revision !== now.revision) {
          log.info({ partition: lane.partition, revision: now.revision }, 'the read model moves')
          reopen(lane)
        } else if (lane.running === null && (await isPutBack(lane)) && lane.running === null && !isOver(lane)) {
          replay(lane)
        }
      }
    },
    wake() {
      for (const lane of lanes.values()) run(lane)
    },
    reached: () => [...lanes.values()].flatMap(reachedBy),
  }
}
