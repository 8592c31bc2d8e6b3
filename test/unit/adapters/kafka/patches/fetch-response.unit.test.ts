import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Message, patchFetchResponse, undecodableAfter } from '#shared/adapters/kafka/patches/fetch-response.ts'

type Encoder = { readonly buffer: Buffer } & Record<
  'writeInt16' | 'writeInt32' | 'writeInt64' | 'writeString' | 'writeBytes' | 'writeArray',
  (value: unknown) => Encoder
>
type Response = {
  readonly responses: readonly {
    readonly topicName: string
    readonly partitions: readonly { readonly partition: number; readonly messages: readonly Message[] }[]
  }[]
}

const load = createRequire(import.meta.url)
const NewEncoder: new () => Encoder = load('kafkajs/src/protocol/encoder')
const response: { decode(data: Buffer): Promise<Response>; parse(data: Response): Promise<Response> } = load(
  'kafkajs/src/protocol/requests/fetch/v11/response',
)
const recordOf: (record: object) => Encoder = load('kafkajs/src/protocol/recordBatch/record/v0')
const { RecordBatch }: { RecordBatch: (batch: object) => Promise<Encoder> } = load(
  'kafkajs/src/protocol/recordBatch/v0',
)

const gzip = 1

async function batchOf(offset: number, damaged = false): Promise<Buffer> {
  const records = [recordOf({ key: Buffer.from(`key ${offset}`), value: Buffer.alloc(100, 'x') })]
  const { buffer } = await RecordBatch({ firstOffset: offset, compression: gzip, records })
  return damaged ? Buffer.concat([buffer.subarray(0, -40), Buffer.alloc(40, 0x55)]) : buffer
}

type Partition = { readonly partition: number; readonly errorCode?: number; readonly bytes: Buffer }

const responseOf = (partitions: readonly Partition[]): Buffer => {
  const encoded = partitions.map(({ partition, errorCode = 0, bytes }) =>
    new NewEncoder()
      .writeInt32(partition)
      .writeInt16(errorCode)
      .writeInt64(9)
      .writeInt64(9)
      .writeInt64(0)
      .writeInt32(0) // no aborted transactions
      .writeInt32(-1)
      .writeBytes(bytes),
  )
  return new NewEncoder()
    .writeInt32(0)
    .writeInt16(0)
    .writeInt32(0)
    .writeArray([new NewEncoder().writeString('topic').writeArray(encoded)]).buffer
}

async function decoded(partitions: readonly Partition[]) {
  const { responses } = await response.parse(await response.decode(responseOf(partitions)))
  return (responses[0]?.partitions ?? []).map(({ partition, messages }) => ({
    partition,
    offsets: messages.map(({ offset }) => offset),
    undecodable: undecodableAfter(messages),
  }))
}

const withDamage = async () => [
  { partition: 0, bytes: Buffer.concat([await batchOf(1), await batchOf(2, true), await batchOf(3)]) },
  { partition: 1, bytes: Buffer.concat([await batchOf(7), await batchOf(8)]) },
]
const corrupt = async () => [
  { partition: 0, errorCode: 2, bytes: Buffer.alloc(0) },
  { partition: 1, bytes: await batchOf(7) },
]

describe('stock kafkajs', () => {
  it('rejects the records of all partitions for one damaged batch', async () => {
    await expect(decoded(await withDamage())).rejects.toThrow()
  })

  it('rejects the records of all partitions when the broker cannot read one', async () => {
    await expect(decoded(await corrupt())).rejects.toThrow('CRC checksum')
  })
})

describe('a patched response', () => {
  beforeAll(() => {
    patchFetchResponse()
    patchFetchResponse() // idempotent
  })

  it('has the records before the damaged batch and of the other partitions', async () => {
    expect(await decoded(await withDamage())).toEqual([
      { partition: 0, offsets: ['1'], undecodable: { offset: 2, error: expect.any(Error) } },
      { partition: 1, offsets: ['7', '8'], undecodable: undefined },
    ])
  })

  it('has the records of the other partitions when the broker cannot read one', async () => {
    expect(await decoded(await corrupt())).toEqual([
      { partition: 0, offsets: [], undecodable: { offset: null, error: expect.objectContaining({ code: 2 }) } },
      { partition: 1, offsets: ['7'], undecodable: undefined },
    ])
  })

  it('ends before a batch that the broker cut off', async () => {
    const bytes = Buffer.concat([await batchOf(1), await batchOf(2)])
    expect(await decoded([{ partition: 0, bytes: bytes.subarray(0, -10) }])).toEqual([
      { partition: 0, offsets: ['1'], undecodable: undefined },
    ])
  })

  it('reports a first batch that claims to be longer than the response, because the broker does not cut it off', async () => {
    const bytes = (await batchOf(4)).subarray(0, -10)
    expect(await decoded([{ partition: 0, bytes }])).toEqual([
      { partition: 0, offsets: [], undecodable: { offset: 4, error: expect.any(Error) } },
    ])
  })

  it('reports a codec that is not registered', async () => {
    const bytes = await batchOf(4)
    bytes[22] = 3 // LZ4
    expect(await decoded([{ partition: 0, bytes }])).toEqual([
      { partition: 0, offsets: [], undecodable: { offset: 4, error: expect.any(Error) } },
    ])
  })

  it('passes other errors of a partition on', async () => {
    await expect(decoded([{ partition: 0, errorCode: 6, bytes: Buffer.alloc(0) }])).rejects.toMatchObject({
      type: 'NOT_LEADER_FOR_PARTITION',
    })
  })
})
