import { expect, onTestFinished } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import type { TopicPartition } from '#shared/ports/subscription.ts'
import type { ReadModelStore } from '#shared/read-model/fold-batch.ts'
import type { PartitionProjectorDeps } from '#shared/read-model/partition-projector.ts'
import { createProjector } from '#shared/read-model/projector.ts'
import type { Log } from '#shared/runtime/log.ts'
import { createMemoryGroups } from '#test/twins/consumer-groups.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'
import { createMemorySubscription } from '#test/twins/subscription.ts'
import { asTexts, documentsOf } from '../builders/job-history.ts'
import { eventually } from '../eventually.ts'

export type MemoryStore = ReadModelStore & ImportJobReader

const folded: readonly TopicName[] = [topics.imports.name, topics.deliveries.name]

export function createMemoryProjection({ now = Date.now }: { readonly now?: () => number } = {}) {
  const eventLog = createMemoryEventLog({ now })
  const groups = createMemoryGroups()
  const store = createMemoryImportJobs()
  const lines: string[] = []
  const errors: { readonly ids: object; readonly message: string }[] = []
  const line = (_: object, message: string) => void lines.push(message)
  const error = (ids: object, message: string) => {
    line(ids, message)
    errors.push({ ids, message })
  }
  const log: Log = { debug: line, info: line, warn: line, error, child: () => log }
  const setAside: TopicPartition[] = []

  const subscribe = () => createMemorySubscription({ eventLog, groups, groupId: 'projector', topics: folded, log })
  async function start(deps: Partial<PartitionProjectorDeps> = {}) {
    const projector = createProjector({
      subscription: subscribe(),
      collections: collectionsOf(store),
      pause: nextIteration,
      onEventSetAside: (place) => void setAside.push(place),
      log,
      ...deps,
    })
    onTestFinished(() => projector.stop())
    await projector.start()
    return projector
  }

  async function append(records: readonly EventRecord[]): Promise<void> {
    for (const { topic, key, headers, value } of records) await eventLog.append([{ topic, key, headers, value }])
  }

  const records = () => folded.flatMap((topic) => eventLog.records(topic))
  const ends = () => new Map(records().map(({ topic, partition, offset }) => [`${topic}/${partition}`, offset + 1]))

  /** Waits for the end of the log, then compares the documents with those that result from all events of the log. */
  async function expectProjected(target: MemoryStore = store): Promise<void> {
    const places = records().map(({ topic, partition }) => ({ topic, partition }))
    await eventually(
      async () => {
        const reached = await target.positions(places)
        expect(new Map(reached.map((one) => [`${one.topic}/${one.partition}`, one.offset]))).toEqual(ends())
      },
      { everyMs: 1 },
    )
    const stored = await target.load([...new Set(records().map(({ key }) => key ?? ''))])
    expect(asTexts([...stored.values()])).toEqual(documentsOf(records()))
  }

  return { eventLog, store, lines, errors, setAside, subscribe, start, append, records, expectProjected }
}

export const collectionsOf = (...stores: readonly ReadModelStore[]) => ({
  current: async () => ({ revision: 0, stores }),
  confirm: async () => {},
})

export const nextIteration = () => new Promise<void>((resolve) => setImmediate(resolve))

/** `pass` waits for a call of `open`. `reached` resolves at the first call of `pass`. */
export function createGate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  return {
    open,
    reached,
    pass() {
      reach()
      return opened
    },
  }
}
