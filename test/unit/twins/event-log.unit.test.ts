import { describe, expect, it } from 'vitest'
import type { Subscription } from '#shared/ports/subscription.ts'
import { eventLogContract } from '#test/contract/event-log.ts'
import { subscriptionContract } from '#test/contract/subscription.ts'
import { createMemoryGroups } from '#test/twins/consumer-groups.ts'
import { createMemoryEventLog } from '#test/twins/event-log.ts'
import { createMemorySubscription } from '#test/twins/subscription.ts'

describe('the in-memory event log', () => {
  eventLogContract({ create: async () => ({ ...createMemoryEventLog(), stop: async () => {} }) })

  it('returns a planned outcome for the next append, with or without storing its records', async () => {
    const log = createMemoryEventLog()
    const record = { topic: 'contact-import.imports', key: 'k', headers: {}, value: Buffer.from('{}') } as const
    const ambiguous = { is: 'ambiguous', cause: new Error('lost') } as const
    log.failNextAppend({ outcome: ambiguous, stored: true })
    log.failNextAppend({ outcome: ambiguous, stored: false })
    expect(await log.append([record])).toEqual(ambiguous)
    expect(await log.append([record])).toEqual(ambiguous)
    expect(await log.append([record])).toMatchObject({ is: 'appended' })
    expect(log.records('contact-import.imports')).toHaveLength(2)
  })
})

describe('the in-memory subscription', () => {
  subscriptionContract({
    create: async () => {
      const eventLog = createMemoryEventLog()
      const groups = createMemoryGroups()
      const members: Subscription[] = []
      return {
        appender: eventLog,
        member(log) {
          const topics = ['contact-import.imports', 'contact-import.deliveries'] as const
          const member = createMemorySubscription({ eventLog, groups, groupId: 'g', topics, log })
          members.push(member)
          return member
        },
        async stop() {
          await Promise.all(members.map((member) => member.stop()))
        },
      }
    },
  })
})
