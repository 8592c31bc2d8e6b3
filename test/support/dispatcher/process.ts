import { metrics } from '@opentelemetry/api'
import { assembleDispatcher } from '#services/dispatcher/assemble-dispatcher.ts'
import type { Dispatcher } from '#services/dispatcher/dispatcher.ts'
import type { WindowBudget } from '#services/dispatcher/owned-partitions.ts'
import type { EventAppender } from '#shared/ports/event-log.ts'
import type { Subscription, SubscriptionHandlers, TopicPartition } from '#shared/ports/subscription.ts'
import { createMemoryLogHistory, createMemorySubscription } from '#test/twins/subscription.ts'
import { silentLog } from '../silent-log.ts'
import type { ScenarioAiSystem } from './ai-system.ts'
import { groupId, imports, type ScenarioAppends, type ScenarioBroker } from './broker.ts'
import type { VirtualTime } from './virtual-time.ts'

const forever = <T>(): Promise<T> => new Promise(() => {})

type ProcessDeps = {
  readonly name: string
  readonly time: VirtualTime
  readonly broker: ScenarioBroker
  readonly ai: ScenarioAiSystem
  readonly appends: ScenarioAppends
  readonly windows: WindowBudget
}

export type ScenarioProcess = {
  readonly name: string
  /** Stops the dispatcher. Resolves when the member has left the group. */
  stop(): Promise<void>
  /** Ends the process at once. Running work has no further effect. */
  kill(): void
  /** The member joins again after the group removed it. Its partitions may have had another owner. */
  missGeneration(): void
  refuseNextCommit(): void
}

export function startScenarioProcess(deps: ProcessDeps): ScenarioProcess {
  const { name, time, broker, ai, appends } = deps
  let alive = true
  const whileAlive = <T>(work: () => Promise<T>): Promise<T> => (alive ? work() : forever())
  const group = createScenarioSubscription(deps)
  const appender: EventAppender = {
    partitionFor: (key) => broker.log.partitionFor(key),
    append: (records) => whileAlive(() => appends.append(records)),
  }
  const dispatcher: Dispatcher = assembleDispatcher({
    aiSystem: { deliver: ({ idempotencyKey }) => whileAlive(() => ai.call(name, idempotencyKey)) },
    appender,
    deadLetters: { append: async () => ({ is: 'appended' }) },
    reader: broker.log,
    subscription: group.subscription,
    clock: time,
    timers: {
      after: (ms, work) => time.after(ms, () => alive && work()),
      pause: (ms, signal) => time.pause(ms, signal).then(() => (alive ? undefined : forever())),
    },
    random: () => 0.999,
    self: name,
    log: silentLog,
    meter: metrics.getMeter('scenario'),
    maxConcurrency: 64,
    maxRecording: 64,
    windows: deps.windows,
    retrySchedule: [5_000, 5_000, 60_000, 60_000, 60_000, 60_000],
    leaseMs: 30_000,
  })
  void dispatcher.start()
  return {
    name,
    stop: () => dispatcher.stop(),
    kill() {
      alive = false
      void group.subscription.stop()
    },
    missGeneration: group.missGeneration,
    refuseNextCommit: group.refuseNextCommit,
  }
}

/** Collects the violations of each successful commit. */
function createScenarioSubscription({ name, broker }: ProcessDeps) {
  const { consumerLog: eventLog, groups } = broker
  const options = { eventLog, groups, groupId, topics: [imports], memberId: name, log: silentLog }
  const inner = createMemorySubscription(options)
  let handlers: SubscriptionHandlers | null = null
  let assigned: readonly TopicPartition[] = []
  let refusing = false
  const subscription: Subscription = {
    ...inner,
    // A record that no consumer has read yet is in the log.
    ...createMemoryLogHistory(broker.log),
    start(given) {
      handlers = given
      return inner.start({
        ...given,
        assigned(partitions, memberKept) {
          assigned = partitions
          given.assigned(partitions, memberKept)
        },
      })
    },
    async commit(positions) {
      if (refusing) {
        refusing = false
        throw new Error('The group coordinator does not answer.')
      }
      const violations = positions.flatMap((position) => broker.violationsOf(position))
      await inner.commit(positions)
      broker.violations.push(...violations)
    },
  }
  return {
    subscription,
    missGeneration(): void {
      if (assigned.length === 0) return
      handlers?.rebalancing()
      handlers?.assigned(assigned, false)
    },
    refuseNextCommit(): void {
      refusing = true
    },
  }
}
