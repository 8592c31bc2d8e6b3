import { describe, inject } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createAppender, createLane } from '#shared/adapters/kafka/produce/lane.ts'
import type { Subscription } from '#shared/ports/subscription.ts'
import { eventLogContract } from '#test/contract/event-log.ts'
import { subscriptionContract } from '#test/contract/subscription.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'

const bothTopics = ['contact-import.imports', 'contact-import.deliveries'] as const

function startAppender({ kafka, topicPrefix }: OwnTopics) {
  const client = kafka()
  return createAppender({
    lanes: [topics.imports, topics.deliveries].map((topic) => createLane({ kafka: client, topic, topicPrefix })),
  })
}

describe('the Kafka event log', () => {
  eventLogContract({
    async create() {
      const own = await createOwnTopics(inject('kafkaBrokers'))
      const { topicPrefix } = own
      const appender = startAppender(own)
      const reader = createReader({
        kafka: own.kafka(),
        groupId: `${topicPrefix}reader`,
        topics: bothTopics,
        topicPrefix,
      })
      await appender.start()
      await reader.start()
      return {
        ...appender,
        read: reader.read,
        async stop() {
          await Promise.all([appender.stop(), reader.stop()])
          await own.remove()
        },
      }
    },
  })
})

describe('the Kafka subscription', () => {
  subscriptionContract({
    async create() {
      const own = await createOwnTopics(inject('kafkaBrokers'))
      const { topicPrefix } = own
      const appender = startAppender(own)
      await appender.start()
      const members: Subscription[] = []
      return {
        appender,
        member(log) {
          const groupId = `${topicPrefix}group`
          const member = createSubscription({ kafka: own.kafka(), groupId, topics: bothTopics, topicPrefix, log })
          members.push(member)
          return member
        },
        async stop() {
          await Promise.all([appender.stop(), ...members.map((member) => member.stop())])
          await own.remove()
        },
      }
    },
  })
})
