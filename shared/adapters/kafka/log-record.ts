import type { IHeaders, KafkaMessage } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord, RawHeaders } from '#shared/ports/event-log.ts'

/** Offsets are 64 bits on the wire and exact as numbers below 2^53, which no partition will reach. */
export function toLogRecord(topic: TopicName, partition: number, message: KafkaMessage): LogRecord {
  return {
    topic,
    partition,
    offset: Number(message.offset),
    // kafkajs gives the batch's append time for topics with LogAppendTime.
    appendedAt: Number(message.timestamp),
    key: message.key === null ? null : message.key.toString('utf8'),
    headers: toHeaders(message.headers),
    value: message.value,
    // Asked for only when a record cannot be read.
    get raw() {
      return { key: message.key, headers: rawHeaders(message.headers) }
    },
  }
}

/** kafkajs cannot write a header without a value, so such a one is empty here. */
const rawHeaders = (headers: IHeaders = {}): RawHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((one) => one ?? '') : (value ?? ''),
    ]),
  )

/** Of a repeated header the last counts, as in Kafka's own `lastHeader`. */
function toHeaders(headers: IHeaders = {}): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    const last = Array.isArray(value) ? value.at(-1) : value
    texts[name] = last === undefined || last === null ? '' : last.toString('utf8')
  }
  return texts
}
