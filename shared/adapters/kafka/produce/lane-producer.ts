import kafkajs, { type IHeaders, type Kafka, type Message, type RecordMetadata } from 'kafkajs'
import type { Topic } from '#schemas/events/catalogue.ts'
import type { NewRecord, RawHeaders, RawRecord } from '#shared/ports/event-log.ts'
import { isTooLarge } from '../kafka-errors.ts'

/**
 * - appended: every record is acknowledged
 * - too_large: the broker refused the records of at least one partition and took none of that partition
 * - not_sent: no byte of these records left the process, and none will
 * - ambiguous: anything may have happened, or may still happen a little later
 * After `not_sent` and `ambiguous` the producer is spent.
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
  /** Nothing leaves any more from here on, not even a retry that kafkajs has under way. Does not wait. */
  close(): void
}

export type LaneProducerOptions = {
  readonly kafka: Kafka
  readonly topic: string
  readonly compression: Topic['compression']
  /** How long one send may take with all of kafkajs's retries, in milliseconds. */
  readonly deadlineMs: number
}

/** The broker's own wait for its replicas. Below kafkajs's 10 s for the whole request, so that its answer arrives. */
const replicationTimeoutMs = 8_000

/** Retries for what passes by itself, such as a new leader; with the same sequence numbers, so nothing doubles. */
const retry = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 8 }

const codecs = { zstd: kafkajs.CompressionTypes.ZSTD, gzip: kafkajs.CompressionTypes.GZIP } as const

/** Connects and obtains a producer id. Rejects when the cluster cannot be reached. */
export async function connectLaneProducer(options: LaneProducerOptions): Promise<LaneProducer> {
  const { kafka, topic, compression, deadlineMs } = options
  const producer = kafka.producer({
    idempotent: true,
    allowAutoTopicCreation: false,
    retry,
    // Every record names its partition.
    createPartitioner:
      () =>
      ({ message: { partition = 0 } }) =>
        partition,
  })
  let closed = false

  function close() {
    closed = true
    // Waits for requests under way to time out, so nobody waits for it.
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
      if (closed) throw new kafkajs.KafkaJSNonRetriableError('This send was given up.')
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
 * kafkajs reads a message's headers when it encodes the request, which is after the connection stands and right before
 * the bytes leave, on every retry again. So this getter is the place to notice that, and to stop it. It has to be the
 * message's own: kafkajs copies each message.
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

/**
 * kafkajs resolves without having sent a partition whose leader moved, between two of its tries, to a broker that had
 * answered already. So each partition must have answered for itself.
 */
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

async function withDeadline<T>(work: Promise<T>, deadlineMs: number, onDeadline: () => T): Promise<T> {
  const deadline = Promise.withResolvers<T>()
  const timer = setTimeout(() => deadline.resolve(onDeadline()), deadlineMs)
  try {
    return await Promise.race([work, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}
