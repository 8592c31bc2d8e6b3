import { randomUUID } from 'node:crypto'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type {
  LogHistory,
  PartitionReading,
  Subscription,
  SubscriptionHandlers,
  TopicPartition,
} from '#shared/ports/subscription.ts'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'
import type { Log } from '#shared/runtime/log.ts'
import type { GroupMember, MemoryGroups } from './consumer-groups.ts'
import type { MemoryEventLog } from './event-log.ts'

export type MemorySubscriptionOptions = {
  readonly eventLog: MemoryEventLog
  readonly groups: MemoryGroups
  readonly groupId: string
  readonly topics: readonly TopicName[]
  readonly log: Log
  /** The assignment of partitions depends on this id, as in Kafka. Random by default. */
  readonly memberId?: string
}

/** Passes the same contract suite as the Kafka subscription. */
export function createMemorySubscription(options: MemorySubscriptionOptions): Subscription {
  const { eventLog, groups, groupId, topics, memberId: id = randomUUID() } = options
  const deliveries = createDeliveries(options, rejoin)
  let handlers: SubscriptionHandlers | null = null
  let joinedBefore = false
  let stopListening = () => {}

  /** The Kafka consumer ends when its position is out of range, and its replacement gets the partitions again. */
  function rejoin() {
    const places = deliveries.places()
    member.rebalancing()
    deliveries.begin(places)
    handlers?.assigned(places, false)
  }

  const member: GroupMember = {
    id,
    topics,
    rebalancing() {
      deliveries.end()
      handlers?.rebalancing()
    },
    assigned(partitions) {
      deliveries.begin(partitions)
      const memberKept = joinedBefore
      joinedBefore = true
      handlers?.assigned(partitions, memberKept)
    },
  }

  return {
    ...deliveries.reading,
    ...createMemoryLogHistory(eventLog),
    async start(given) {
      handlers = given
      stopListening = eventLog.onAppend(deliveries.wake)
      await deliveries.join(given)
      groups.join(groupId, member)
    },
    isCurrentMember: () => handlers !== null && deliveries.isAssigned(),
    committed: async (partitions) =>
      groups.committed(groupId).filter((position) => partitions.some((one) => keyOf(one) === keyOf(position))),
    async commit(positions) {
      if (handlers === null || positions.some((position) => !groups.owns(groupId, id, position)))
        throw new Error('The group does not accept commits of this member now.')
      groups.commit(
        groupId,
        positions.map((position) => ({ ...position, metadata: position.metadata ?? '' })),
      )
    },
    async stop() {
      if (handlers === null) return
      handlers = null
      deliveries.end()
      stopListening()
      groups.leave(groupId, member)
    },
  }
}

export const createMemoryLogHistory = (eventLog: MemoryEventLog): LogHistory => ({
  ranges: async (partitions) =>
    partitions.map((place) => ({ ...place, start: 0, end: eventLog.partition(place.topic, place.partition).length })),
  async offsetSince({ topic, partition }, since) {
    const records = eventLog.partition(topic, partition)
    const first = records.findIndex(({ appendedAt }) => appendedAt >= since)
    return first === -1 ? records.length : first
  },
  holds: async ({ topic, partition }, { offset, appendedAt }) =>
    eventLog.partition(topic, partition)[offset]?.appendedAt === appendedAt,
})

type Reading = { readonly place: TopicPartition; next: number; paused: boolean; busy: boolean }

const batchRecords = 100

function createDeliveries(
  { eventLog, log }: Pick<MemorySubscriptionOptions, 'eventLog' | 'log'>,
  outOfRange: () => void,
) {
  const yieldToEventLoop = createEventLoopYield(1)
  let handle: SubscriptionHandlers['records'] = () => {}
  let readings = new Map<string, Reading>()

  const isReading = (reading: Reading) => readings.get(keyOf(reading.place)) === reading && !reading.paused

  async function deliver(reading: Reading) {
    if (reading.busy) return
    reading.busy = true
    for (;;) {
      await yieldToEventLoop()
      const { topic, partition } = reading.place
      const from = reading.next
      const stored = eventLog.partition(topic, partition)
      const records = stored.slice(from, from + batchRecords)
      if (from > stored.length && isReading(reading)) outOfRange()
      if (records.length === 0 || !isReading(reading)) break
      try {
        await handle(records)
        // The handler may have opened the partition at another offset.
        if (reading.next === from) reading.next = from + records.length
      } catch (err) {
        log.error({ topic, partition, offset: from, err }, 'handling records failed; retrying')
      }
    }
    reading.busy = false
  }

  return {
    reading: readingOf(
      () => readings,
      (one) => void deliver(one),
    ),
    isAssigned: () => readings.size > 0,
    places: () => [...readings.values()].map(({ place }) => place),
    async join(handlers: SubscriptionHandlers) {
      handle = (records) => handlers.records(records)
      await yieldToEventLoop()
    },
    begin(places: readonly TopicPartition[]) {
      readings = new Map(places.map((place) => [keyOf(place), { place, next: 0, paused: true, busy: false }]))
    },
    end() {
      readings = new Map()
    },
    wake() {
      for (const one of readings.values()) void deliver(one)
    },
  }
}

function readingOf(readings: () => Map<string, Reading>, deliver: (reading: Reading) => void): PartitionReading {
  function setPaused(place: TopicPartition, paused: boolean) {
    const reading = readings().get(keyOf(place))
    if (reading === undefined) return
    reading.paused = paused
    if (!paused) deliver(reading)
  }
  return {
    open({ topic, partition, offset }) {
      const place = { topic, partition }
      if (!readings().has(keyOf(place))) return
      // A new object stops a running delivery from the old offset.
      const opened = { place, next: offset, paused: false, busy: false }
      readings().set(keyOf(place), opened)
      deliver(opened)
    },
    pause: (place) => setPaused(place, true),
    resume: (place) => setPaused(place, false),
  }
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
