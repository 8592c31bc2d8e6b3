import kafkajs, { type IHeaders, type Kafka, type Message, type RecordMetadata } from 'kafkajs'
import type { Topic } from '#schemas/events/catalogue.ts'
import type { NewRecord, RawHeaders, RawRecord } from '#shared/ports/event-log.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { isTooLarge } from '../kafka-errors.ts'

/**
 * - appended: the broker acknowledged every record
 * - too_large: the broker refused the records of at least one partition and stored none of that partition
 * - not_sent: no byte of these records was sent or will be sent
 * - ambiguous: the broker may have stored the records or may still store them
 * After `not_sent` and `ambiguous` the producer is closed and must not be used again.
 */
export type SendOutcome =
  | { readonly is: 'appended' }
  | { readonly is: 'too_large' }
  | { readonly is: 'not_sent'; readonly cause: unknown }
  | { readonly is: 'ambiguous'; readonly cause: unknown }

export type PlacedRecord = (NewRecord & { readonly partition: number }) | RawRecord

/** One idempotent producer. Only one `send` at a time: kafkajs loses acknowledged records when sends overlap. */
export type LaneProducer = {
  send(records: readonly PlacedRecord[]): Promise<SendOutcome>
  /** Stops all further sending, including retries by kafkajs. Does not wait. */
  close(): void
}

export type LaneProducerOptions = {
  readonly kafka: Kafka
  readonly topic: string
  readonly compression: Topic['compression']
  /** Milliseconds for one send, including retries by kafkajs. */
  readonly deadlineMs: number
}

/** Time the broker waits for its replicas. Below the 10 s request timeout, so that the broker's error arrives. */
const replicationTimeoutMs = 8_000

/** For errors such as a change of leader. kafkajs keeps the sequence numbers, so the broker drops duplicates. */
const retry = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 8 }

const codecs = { zstd: kafkajs.CompressionTypes.ZSTD, gzip: kafkajs.CompressionTypes.GZIP } as const

/** Connects and obtains a producer id. Rejects when the cluster cannot be reached. */
export async function connectLaneProducer(options: LaneProducerOptions): Promise<LaneProducer> {
  const { kafka, topic, compression, deadlineMs } = options
  const producer = kafka.producer({
    idempotent: true,
    allowAutoTopicCreation: false,
    retry,
    createPartitioner:
      () =>
      ({ message: { partition = 0 } }) =>
        partition,
  })
  let closed = false

  function close() {
    closed = true
    // Not awaited: kafkajs waits for requests in flight.
    producer.disconnect().catch(() => {})
  }

  try {
    await producer.connect()
  } catch (error) {
    close()
    throw error
  }

  async function send(records: readonly PlacedRecord[]): Promise<SendOutcome> {
    let handedOver = false
    const handOver = (): void => {
      if (closed) throw new kafkajs.KafkaJSNonRetriableError('The producer was closed.')
      handedOver = true
    }
    const messages = records.map((record) => guarded(record, handOver))
    const failed = (cause: unknown): SendOutcome => ({ is: handedOver ? 'ambiguous' : 'not_sent', cause })
    const sending = producer
      .sendBatch({
        acks: -1,
        timeout: replicationTimeoutMs,
        compression: codecs[compression],
        topicMessages: [{ topic, messages }],
      })
      .then(
        (answers): SendOutcome => verified(answers, records, failed),
        (error: unknown): SendOutcome => (isTooLarge(error) ? { is: 'too_large' } : failed(error)),
      )
    const outcome = await withDeadline(sending, deadlineMs, () => {
      close()
      return failed(new Error(`The event log did not answer within ${deadlineMs} ms.`))
    })
    if (outcome.is === 'ambiguous' || outcome.is === 'not_sent') close()
    return outcome
  }

  return { send, close }
}

/**
 * `beforeEncoding` is called before each send: kafkajs reads the getter `headers` for each encoding. The getter is an own
 * property, because kafkajs copies messages.
 */
function guarded(record: PlacedRecord, beforeEncoding: () => void): Message {
  const { key, partition, value, headers } = record
  return {
    key: key === null || typeof key === 'string' ? key : asBuffer(key),
    partition,
    value: value === null ? null : asBuffer(value),
    get headers() {
      beforeEncoding()
      return toHeaders(headers)
    },
  }
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const isText = (headers: RawHeaders): headers is Readonly<Record<string, string>> =>
  Object.values(headers).every((value) => typeof value === 'string')

function toHeaders(headers: RawHeaders): IHeaders {
  if (isText(headers)) return headers
  const wire = (one: string | Uint8Array) => (typeof one === 'string' ? one : asBuffer(one))
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' || value instanceof Uint8Array ? wire(value) : value.map(wire),
    ]),
  )
}

/** kafkajs 2.2.4 skips a partition whose leader moves between retries, if the new leader has already answered. */
function verified(
  answers: readonly RecordMetadata[],
  records: readonly PlacedRecord[],
  failed: (cause: unknown) => SendOutcome,
): SendOutcome {
  const answered = new Set(answers.filter(({ errorCode }) => errorCode === 0).map(({ partition }) => partition))
  return records.every(({ partition }) => answered.has(partition))
    ? { is: 'appended' }
    : failed(new Error('The event log did not acknowledge every partition.'))
}
