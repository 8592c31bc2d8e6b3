import type { Kafka } from 'kafkajs'
import type { EventLogProbe } from '#shared/ports/event-log.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { createReconnectingAdmin } from './reconnecting-admin.ts'

/** Checks that the cluster answers a request for its brokers. Concurrent probes share one request. */
export function createEventLogProbe({ kafka }: { readonly kafka: Kafka }): EventLogProbe & { stop(): Promise<void> } {
  const admin = createReconnectingAdmin(kafka)
  let inFlight: Promise<boolean> | null = null

  function hasBrokers(): Promise<boolean> {
    inFlight ??= admin
      .run((client) => client.describeCluster())
      .then(
        ({ brokers }) => brokers.length > 0,
        () => false,
      )
      .finally(() => {
        inFlight = null
      })
    return inFlight
  }

  return {
    probe: (withinMs) => withDeadline(hasBrokers(), withinMs, () => false),
    stop: () => admin.close(),
  }
}
