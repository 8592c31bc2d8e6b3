import { setTimeout as delay } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { EventLogProbe } from '#shared/ports/event-log.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

/** Asks the cluster for its brokers. Questions that come while one is under way share its answer. */
export function createEventLogProbe({ kafka }: { readonly kafka: Kafka }): EventLogProbe & { stop(): Promise<void> } {
  const admin = createReconnectingAdmin(kafka)
  let asking: Promise<boolean> | null = null

  function ask(): Promise<boolean> {
    asking ??= admin
      .ask((client) => client.describeCluster())
      .then(
        ({ brokers }) => brokers.length > 0,
        () => false,
      )
      .finally(() => {
        asking = null
      })
    return asking
  }

  return {
    async probe(withinMs) {
      const overdue = new AbortController()
      const late = delay(withinMs, false, { signal: overdue.signal }).catch(() => false)
      const answered = await Promise.race([ask(), late])
      overdue.abort()
      return answered
    },
    stop: () => admin.close(),
  }
}
