import type { IHeaders, KafkaMessage } from 'kafkajs'
import type { TopicName } from '#schemas/events/catalogue.ts'
import type { LogRecord, RawHeaders, RawParts } from '#shared/ports/event-log.ts'
import { LazyMessage } from './patches/record-headers.ts'

/** Offsets have 64 bits; as numbers they are exact below 2^53, far above any real offset. */
export const toLogRecord = (topic: TopicName, partition: number, message: KafkaMessage): LogRecord =>
  new KafkaRecord(topic, partition, message)

/** A class, because an object literal creates the getter again for every record. */
class KafkaRecord implements LogRecord {
  readonly topic: TopicName
  readonly partition: number
  readonly offset: number
  readonly appendedAt: number
  readonly key: string | null
  readonly value: Uint8Array | null
  readonly #message: KafkaMessage
  #headers: Readonly<Record<string, string>> | null = null

  constructor(topic: TopicName, partition: number, message: KafkaMessage) {
    this.topic = topic
    this.partition = partition
    this.offset = Number(message.offset)
    // The append time of the batch, because the topics use LogAppendTime.
    this.appendedAt = Number(message.timestamp)
    this.key = message.key === null ? null : message.key.toString('utf8')
    this.value = message.value
    this.#message = message
  }

  /** kafkajs has this member, but its types do not. */
  get leaderEpoch(): number | undefined {
    const { batchContext } = this.#message as { readonly batchContext?: { readonly partitionLeaderEpoch: number } }
    return batchContext?.partitionLeaderEpoch
  }

  header(name: string): string | undefined {
    const message = this.#message
    return textOf(message instanceof LazyMessage ? message.encodedHeaders.find(name) : message.headers?.[name])
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= headerTexts(this.#message.headers)
    return this.#headers
  }

  get raw(): RawParts {
    return { key: this.#message.key, headers: rawHeaders(this.#message.headers) }
  }
}

function headerTexts(headers: IHeaders = {}): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const name in headers) texts[name] = textOf(headers[name]) ?? ''
  return texts
}

/** Uses the last value of a repeated header, like `lastHeader` of Kafka's Java client. */
function textOf(value: IHeaders[string] | null): string | undefined {
  const last = Array.isArray(value) ? value.at(-1) : value
  return last === null ? '' : last?.toString()
}

/** kafkajs cannot write a header with a null value, so null becomes an empty string. */
const rawHeaders = (headers: IHeaders = {}): RawHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((one) => one ?? '') : (value ?? ''),
    ]),
  )
