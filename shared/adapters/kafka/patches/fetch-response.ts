import { createRequire } from 'node:module'
import { isAnyOf } from '../kafka-errors.ts'
import { type DecodedRecord, LazyMessage, patchRecordHeaders } from './record-headers.ts'
import { replaceMethod } from './replace-method.ts'

const load = createRequire(import.meta.url)

/** The members of Decoder (kafkajs 2.2.4, src/protocol/decoder) that the patch uses. */
type Decoder = {
  readonly buffer: Buffer
  readonly offset: number
  canReadBytes(count: number): boolean
  readBytes(count: number): Buffer
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readString(): string
  readArray<T>(read: (decoder: Decoder) => T): T[]
  readArrayAsync<T>(read: (decoder: Decoder) => Promise<T>): Promise<T[]>
}

export type Message = { readonly offset: string }

type Parts = {
  readonly Decoder: new (buffer: Buffer) => Decoder
  readonly decodeBatch: (decoder: Decoder) => Promise<{ readonly records: readonly DecodedRecord[] }>
  readonly errorOf: (code: number) => Error
}

/** `offset`: the first record of the batch; null when the broker cannot read the batch and does not tell its offset. */
export type UndecodableBatch = { readonly offset: number | null; readonly error: unknown }

type FetchResponse = { decode(rawData: Buffer): Promise<unknown> }

const undecodable = new WeakMap<readonly Message[], UndecodableBatch>()

/** The batch that cannot be decoded and that follows the last of `messages`; undefined if there is none. */
export const undecodableAfter = (messages: readonly Message[]): UndecodableBatch | undefined =>
  undecodable.get(messages)

/** Error codes of a partition that the broker itself cannot read: unknown error, corrupt message, invalid record. */
export const unreadableCodes = new Set([-1, 2, 87])
/** Size of a record batch without its records and its first two fields. */
const batchOverhead = 49

/**
 * Decodes each partition of a fetch response on its own. Stock kafkajs rejects the whole response for one batch that
 * cannot be decoded, so the consumer receives nothing from any partition of this broker. With the patch, `messages` of
 * the partition ends before the batch, and `undecodableAfter` returns the batch. Idempotent.
 */
export function patchFetchResponse(): void {
  patchRecordHeaders()
  const parts: Parts = {
    Decoder: load('kafkajs/src/protocol/decoder'),
    decodeBatch: load('kafkajs/src/protocol/recordBatch/v0/decoder'),
    errorOf: load('kafkajs/src/protocol/error').createErrorFromCode,
  }
  // kafkajs uses version 11 with every supported broker.
  const response: FetchResponse = load('kafkajs/src/protocol/requests/fetch/v11/response')
  replaceMethod(response, 'decode', () => async (rawData) => decodeResponse(rawData, parts))
}

async function decodeResponse(rawData: Buffer, parts: Parts) {
  const decoder = new parts.Decoder(rawData)
  const clientSideThrottleTime = decoder.readInt32()
  const errorCode = decoder.readInt16()
  const sessionId = decoder.readInt32()
  const responses = await decoder.readArrayAsync(async (topic) => ({
    topicName: topic.readString(),
    partitions: await topic.readArrayAsync((partition) => decodePartition(partition, parts)),
  }))
  // As in stock kafkajs: the client waits for `clientSideThrottleTime`.
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses }
}

async function decodePartition(decoder: Decoder, parts: Parts) {
  const fields = {
    partition: decoder.readInt32(),
    errorCode: decoder.readInt16(),
    highWatermark: decoder.readInt64().toString(),
    lastStableOffset: decoder.readInt64().toString(),
    lastStartOffset: decoder.readInt64().toString(),
    abortedTransactions: decoder.readArray((transaction) => ({
      producerId: transaction.readInt64().toString(),
      firstOffset: transaction.readInt64().toString(),
    })),
    preferredReadReplica: decoder.readInt32(),
  }
  const messages = await decodeMessages(decoder, parts)
  if (!unreadableCodes.has(fields.errorCode)) return { ...fields, messages }
  undecodable.set(messages, { offset: null, error: parts.errorOf(fields.errorCode) })
  return { ...fields, errorCode: 0, messages }
}

async function decodeMessages(decoder: Decoder, { Decoder, decodeBatch }: Parts): Promise<readonly Message[]> {
  const messages: Message[] = []
  const size = decoder.readInt32()
  if (size <= 0 || !decoder.canReadBytes(size)) return messages
  const batches = new Decoder(decoder.readBytes(size))
  while (batches.canReadBytes(batchOverhead)) {
    const start = batches.offset
    try {
      const { records } = await decodeBatch(batches)
      for (const record of records) messages.push(new LazyMessage(record))
    } catch (error) {
      // The broker may end the response within any batch except the first.
      if (start === 0 || !isAnyOf(error, partialBatch))
        undecodable.set(messages, { offset: Number(batches.buffer.readBigInt64BE(start)), error })
      break
    }
  }
  return messages
}

const partialBatch = new Set(['KafkaJSPartialMessageError'])
