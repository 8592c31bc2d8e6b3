import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import type { ImportJobWriter } from '#shared/ports/import-jobs.ts'
import type { Position, TopicPartition } from '#shared/ports/subscription.ts'
import type { Projector } from '#shared/read-model/projector.ts'

type Deps = {
  /** The collection that is read: the one being built never runs ahead of its positions. */
  readonly active: ImportJobWriter
  readonly target: ImportJobWriter
  /** A projector into the collection being built, which waits at the limits. */
  readonly projectorWith: (limitOf: (partition: TopicPartition) => number) => Projector
  readonly pause: (ms: number) => Promise<void>
  readonly tell: (line: string) => void
  readonly now: () => number
}

const places: readonly TopicPartition[] = [topics.imports, topics.deliveries].flatMap(({ name: topic }) =>
  Array.from({ length: partitionCount }, (_, partition) => ({ topic, partition })),
)
const lookEveryMs = 200
const tellEveryMs = 2_000

export type ProjectionBuild = {
  start(): Promise<void>
  stop(): Promise<void>
  /** Until everything that the active collection holds as of this call is here too. */
  caughtUp(): Promise<void>
  folded(): { readonly events: number; readonly seconds: number }
}

/**
 * Folds the log into one collection up to where the active one has it, and no farther: whatever is done once per event
 * before the active positions move was then done for every event in here, so the projector can go on from here.
 */
export function createProjectionBuild({ active, target, projectorWith, pause, tell, now }: Deps): ProjectionBuild {
  let limits = new Map<string, number>()
  let begun = { at: 0, events: 0 }
  let told = 0
  const limitOf = (place: TopicPartition) => limits.get(keyOf(place)) ?? 0
  const projector = projectorWith(limitOf)

  async function refresh(): Promise<void> {
    const positions = await active.positions(places)
    limits = new Map(positions.map((position) => [keyOf(position), position.offset]))
    projector.wake()
  }

  /** Null until every partition is opened. */
  function missing(reached: readonly Position[]): number | null {
    if (reached.length < places.length) return null
    return reached.reduce((sum, position) => sum + Math.max(0, limitOf(position) - position.offset), 0)
  }

  function tellProgress(left: number | null): void {
    if (now() - told < tellEveryMs) return
    told = now()
    if (left === null) {
      tell('Joining the readers of the log.')
      return
    }
    const { events, seconds } = folded()
    const rate = Math.round(events / Math.max(seconds, 0.001))
    const remaining = rate > 0 ? `${Math.ceil(left / rate)} s left` : 'the time left is not known yet'
    tell(`${events} of ${events + left} events, ${rate} per second, ${remaining}.`)
  }

  function folded() {
    const events = Math.max(0, sum(projector.reached()) - begun.events)
    return { events, seconds: (now() - begun.at) / 1_000 }
  }

  return {
    async start() {
      begun = { at: now(), events: sum(await target.positions(places)) }
      await refresh()
      await projector.start()
    },
    stop: () => projector.stop(),
    async caughtUp() {
      await refresh()
      const wanted = limits
      for (;;) {
        const reached = projector.reached()
        const left = missing(reached)
        tellProgress(left)
        const lacks = reached.some((position) => position.offset < (wanted.get(keyOf(position)) ?? 0))
        if (left !== null && !lacks) return
        await pause(lookEveryMs)
        await refresh()
      }
    },
    folded,
  }
}

const keyOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`
const sum = (positions: readonly Position[]): number => positions.reduce((total, { offset }) => total + offset, 0)
