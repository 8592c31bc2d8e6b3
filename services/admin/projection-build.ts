import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import { foldVersion } from '#shared/domain/projections/fold-version.ts'
import type { FoldPosition, FoldPositions } from '#shared/ports/import-jobs.ts'
import type { LogHistory, Position, TopicPartition } from '#shared/ports/subscription.ts'
import { builtByFold, newerFold } from '#shared/read-model/fold-version-check.ts'
import { offsetAt } from '#shared/read-model/log-place.ts'
import type { Projector } from '#shared/read-model/projector.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

type Deps = {
  readonly active: FoldPositions
  readonly target: FoldPositions
  readonly history: Pick<LogHistory, 'ranges'>
  readonly projectorWith: (limitOf: (partition: TopicPartition) => number) => Projector
  readonly pause: (ms: number) => Promise<void>
  readonly print: (line: string) => void
  readonly now: () => number
}

const topicPartitions: readonly TopicPartition[] = [topics.imports, topics.deliveries].flatMap(({ name: topic }) =>
  Array.from({ length: partitionCount }, (_, partition) => ({ topic, partition })),
)
const pollEveryMs = 200
const printEveryMs = 2_000

export type ProjectionBuild = {
  /** Throws when a newer fold built the target. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Resolves when the target has every event that the active collection had at the time of the call. */
  caughtUp(): Promise<void>
  folded(): { readonly events: number; readonly seconds: number }
}

/**
 * Projects the log into the target up to the positions of the active collection. The build does not announce
 * finished jobs: had it read further, a projector that continues from the target would never announce these jobs.
 */
export function createProjectionBuild(deps: Deps): ProjectionBuild {
  const { active, target, history, pause, print, now } = deps
  let limits: ReadonlyMap<string, number> = new Map()
  let started = { at: 0, events: 0 }
  const limitOf = (topicPartition: TopicPartition) => limits.get(keyOf(topicPartition)) ?? 0
  const projector = deps.projectorWith(limitOf)
  const printProgress = createProgressPrinter(deps)

  /** Returns false when the event log cannot be reached. The caller repeats the call. */
  async function refreshLimits(): Promise<boolean> {
    const positions = offsetsOf(await active.positions(topicPartitions))
    // A log that lost its last records ends below the positions of the active collection.
    const ranges = await history.ranges(positions).catch((error: unknown) => {
      if (error instanceof DependencyLost) return null
      throw error
    })
    if (ranges === null) return false
    const ends = new Map(ranges.map((range) => [keyOf(range), range.end]))
    limits = new Map(positions.map((one) => [keyOf(one), Math.min(one.offset, ends.get(keyOf(one)) ?? one.offset)]))
    projector.wake()
    return true
  }

  function folded() {
    const events = Math.max(0, sum(projector.reached()) - started.events)
    return { events, seconds: (now() - started.at) / 1_000 }
  }

  return {
    async start() {
      const positions = await target.positions(topicPartitions)
      checkFolds({ target: positions, active: await active.positions(topicPartitions) }, print)
      started = { at: now(), events: sum(offsetsOf(positions)) }
      await refreshLimits()
      await projector.start()
    },
    stop: () => projector.stop(),
    async caughtUp() {
      while (!(await refreshLimits())) await pause(pollEveryMs)
      const wanted = limits
      for (;;) {
        const reached = projector.reached()
        const isOpen = reached.length === topicPartitions.length
        printProgress(isOpen ? { ...folded(), remaining: sum(reached.map(missingAt)) } : null)
        if (isOpen && reached.every((position) => position.offset >= (wanted.get(keyOf(position)) ?? 0))) return
        await pause(pollEveryMs)
        await refreshLimits()
      }
    },
    folded,
  }

  function missingAt(position: Position): Position {
    return { ...position, offset: Math.max(0, limitOf(position) - position.offset) }
  }
}

function checkFolds(stored: Record<'target' | 'active', readonly FoldPosition[]>, print: Deps['print']): void {
  const builtBy = builtByFold(stored.target)
  if (builtBy > foldVersion) throw new Error(newerFold(builtBy))
  const ofActive = builtByFold(stored.active)
  if (ofActive === foldVersion) return
  print(`Version ${ofActive} of the fold built the active collection. This release has version ${foldVersion}.`)
}

type Progress = { readonly events: number; readonly seconds: number; readonly remaining: number }

function createProgressPrinter({ print, now }: Deps): (progress: Progress | null) => void {
  let printedAt = 0
  return (progress) => {
    if (now() - printedAt < printEveryMs) return
    printedAt = now()
    if (progress === null) {
      print('Joining the consumer group.')
      return
    }
    const { events, seconds, remaining } = progress
    const rate = Math.round(events / Math.max(seconds, 0.001))
    const time = rate > 0 ? `${Math.ceil(remaining / rate)} s left` : 'remaining time unknown'
    print(`${events} of ${events + remaining} events, ${rate} per second, ${time}.`)
  }
}

const offsetsOf = (positions: readonly Position[]): readonly Position[] =>
  positions.map((position) => ({ ...position, offset: offsetAt(position.offset) }))
const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`
const sum = (positions: readonly Position[]): number => positions.reduce((total, { offset }) => total + offset, 0)
