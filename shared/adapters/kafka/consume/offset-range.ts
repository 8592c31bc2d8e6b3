import type { TopicName } from '#schemas/events/catalogue.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { ReconnectingAdmin } from '../admin/reconnecting-admin.ts'
import type { TopicNames } from '../topic-names.ts'

/**
 * The offsets of one partition from the first record appended at or after `since` to its end now; `from` equals `end`
 * when there is none. Throws `DependencyLost`.
 */
export function createOffsetRange({ admin, names }: { admin: ReconnectingAdmin; names: TopicNames }) {
  return async function rangeOf(
    topic: TopicName,
    partition: number,
    since: Instant,
  ): Promise<{ from: number; end: number }> {
    const name = names.inCluster(topic)
    const [sinceOffsets, offsets] = await admin.ask((client) =>
      Promise.all([
        // Negative timestamps have other meanings in this request (ListOffsets: -1 latest, -2 earliest).
        client.fetchTopicOffsetsByTimestamp(name, Math.max(0, Math.floor(since))),
        client.fetchTopicOffsets(name),
      ]),
    )
    const from = sinceOffsets.find((one) => one.partition === partition)
    const whole = offsets.find((one) => one.partition === partition)
    if (from === undefined || whole === undefined) throw new Error(`${name} has no partition ${partition}.`)
    return { from: Number(from.offset), end: Number(whole.high) }
  }
}
