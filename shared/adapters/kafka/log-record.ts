import type { IHeaders, KafkaMessage } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord, RawHeaders, RawParts } from '#shared/ports/event-log.ts'
import { headerTexts } from './patches/record-decoder.ts'

/** Offsets are 64 bits on the wire and exact as numbers below 2^53, which no partition will reach. */
export const toLogRecord = (topic: TopicName, partition: number, message: KafkaMessage): LogRecord =>
  new KafkaRecord(topic, partition, message)

/** A class, since a getter in an object literal is made anew with every object. */
class KafkaRecord implements LogRecord {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: number
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly value: Uint8Array | null
  readonly #message: KafkaMessage

  constructor(topic: TopicName, partition: number, message: KafkaMessage) {
    this.topic = topic
    this.partition = partition
    this.offset = Number(message.offset)
    // kafkajs gives the batch's append time for topics with LogAppendTime.
    this.appendedAt = Number(message.timestamp)
    this.key = message.key === null ? null : message.key.toString('utf8')
    this.headers = headerTexts(message)
    this.value = message.value
    this.#message = message
  }

  /** Asked for only when a record cannot be read. */
  get raw(): RawParts {
    return { key: this.#message.key, headers: rawHeaders(this.#message.headers) }
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
