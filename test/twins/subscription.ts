import { randomUUID } from 'node:crypto'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Position, Subscription, SubscriptionHandlers, TopicPartition } from '#shared/ports/subscription.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import type { GroupMember, MemoryGroups } from './consumer-groups.ts'
import type { MemoryEventLog } from './event-log.ts'

export type MemorySubscriptionOptions = {
  readonly log: MemoryEventLog
  readonly groups: MemoryGroups
  readonly groupId: string
  readonly topics: readonly TopicName[]
}

/** Records handed over at once. */
const batchRecords = 100

type Reading = { readonly place: TopicPartition; next: number; paused: boolean; busy: boolean }

/** Membership in a group of a log in memory. Fulfils the same contract as the one in Kafka. */
export function createMemorySubscription({ log, groups, groupId, topics }: MemorySubscriptionOptions): Subscription {
  const id = randomUUID()
  const yieldToEventLoop = createEventLoopYield(1)
  let readings = new Map<string, Reading>()
  let handlers: SubscriptionHandlers | null = null
  let joinedBefore = false
  let stopListening = () => {}

  const member: GroupMember = {
    id,
    topics,
    rebalancing() {
      readings = new Map()
      handlers?.rebalancing()
    },
    assigned(partitions) {
      readings = new Map(
        partitions.map((place) => [keyOf(place), { place, next: 0, paused: true, busy: false }] as const),
      )
      const kept = joinedBefore
      joinedBefore = true
      handlers?.assigned(partitions, kept)
    },
  }

  function wake() {
    for (const reading of readings.values()) void deliver(reading)
  }

  const current = (reading: Reading) => readings.get(keyOf(reading.place)) === reading && !reading.paused

  async function deliver(reading: Reading) {
    if (reading.busy) return
    reading.busy = true
    for (;;) {
      await yieldToEventLoop()
      const { topic, partition } = reading.place
      const from = reading.next
      const records = log.partition(topic, partition).slice(from, from + batchRecords)
      if (records.length === 0 || handlers === null || !current(reading)) break
      try {
        await handlers.records(records)
        // An `open` by the handler itself wins.
        if (reading.next === from) reading.next = from + records.length
      } catch {} // the same records again, in another turn
    }
    reading.busy = false
  }

  function open({ topic, partition, offset }: Position) {
    const reading = readings.get(keyOf({ topic, partition }))
    if (reading === undefined) return
    // A new object: whatever is under way for the old position no longer counts.
    const fresh = { place: reading.place, next: offset, paused: false, busy: false }
    readings.set(keyOf({ topic, partition }), fresh)
    void deliver(fresh)
  }

  function setPaused(place: TopicPartition, paused: boolean) {
    const reading = readings.get(keyOf(place))
    if (reading === undefined) return
    reading.paused = paused
    if (!paused) void deliver(reading)
  }

  return {
    async start(given) {
      handlers = given
      stopListening = log.onAppend(wake)
      await yieldToEventLoop()
      groups.join(groupId, member)
    },
    isCounted: () => handlers !== null && readings.size > 0,
    committed: async (partitions) =>
      groups.committed(groupId).filter((position) => partitions.some((one) => keyOf(one) === keyOf(position))),
    beginnings: async (partitions) => partitions.map((partition) => ({ ...partition, offset: 0 })),
    open,
    pause: (partition) => setPaused(partition, true),
    resume: (partition) => setPaused(partition, false),
    async commit(positions) {
      if (handlers === null || positions.some((position) => !groups.owns(groupId, id, position)))
        throw new Error('The group does not take commits of this member now.')
      groups.commit(
        groupId,
        positions.map((position) => ({ ...position, metadata: position.metadata ?? '' })),
      )
    },
    async stop() {
      if (handlers === null) return
      handlers = null
      readings = new Map()
      stopListening()
      groups.leave(groupId, member)
    },
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
