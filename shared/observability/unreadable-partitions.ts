import type { Meter } from '@opentelemetry/api'

type UnreadablePartition = { readonly topic: string; readonly partition: number; readonly offset: number | null }

/** The metric has the value 1 for each partition, with its topic and number as attributes. */
export function observeUnreadablePartitions(meter: Meter, unreadable: () => readonly UnreadablePartition[]): void {
  const gauge = meter.createObservableGauge('event_log.unreadable', {
    description: 'Partitions that are not read because a record batch cannot be decoded',
  })
  gauge.addCallback((result) => {
    for (const { topic, partition } of unreadable()) result.observe(1, { topic, partition })
  })
}

/** One sentence for each partition, for `GET /readyz`. */
export const remarksOn = (unreadable: readonly UnreadablePartition[]): readonly string[] =>
  unreadable.map(({ topic, partition, offset }) => {
    const batch = offset === null ? 'a record batch' : `the record batch at offset ${offset}`
    return `Partition ${partition} of ${topic} is not read: ${batch} cannot be decoded.`
  })
