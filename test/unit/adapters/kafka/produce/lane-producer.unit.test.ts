import kafkajs, { type Kafka, type ProducerBatch, type RecordMetadata } from 'kafkajs'
import { describe, expect, it, vi } from 'vitest'
import { connectLaneProducer, type LaneProducer } from '#shared/adapters/kafka/produce/lane-producer.ts'

const record = (partition: number) =>
  ({
    topic: 'contact-import.imports',
    key: 'k',
    partition,
    headers: { ce_id: '1' },
    value: Buffer.from('{}'),
  }) as const

const encode = ({ topicMessages = [] }: ProducerBatch) =>
  topicMessages.flatMap(({ messages }) => messages.map((message) => ({ ...message })))

const acknowledged = (...partitions: number[]): RecordMetadata[] =>
  partitions.map((partition) => ({ topicName: 'imports', partition, errorCode: 0 }))

const protocolError = (type: string) => new Error('wrapped', { cause: Object.assign(new Error(type), { type }) })

type SendBatch = (batch: ProducerBatch) => Promise<RecordMetadata[]>

async function producerThat(sendBatch: SendBatch, deadlineMs = 1_000) {
  const disconnect = vi.fn(async () => {})
  const kafka = { producer: () => ({ connect: async () => {}, disconnect, sendBatch }) } as unknown as Kafka
  const producer: LaneProducer = await connectLaneProducer({ kafka, topic: 'imports', compression: 'zstd', deadlineMs })
  return { producer, disconnect }
}

describe('the outcome of a send is', () => {
  it('appended when every partition is acknowledged', async () => {
    const { producer, disconnect } = await producerThat(async () => acknowledged(1, 2))
    expect(await producer.send([record(1), record(2), record(1)])).toEqual({ is: 'appended' })
    expect(disconnect).not.toHaveBeenCalled()
  })

  it('ambiguous when kafkajs resolves without the acknowledgement of a partition', async () => {
    const { producer, disconnect } = await producerThat(async (batch) => {
      encode(batch)
      return acknowledged(1)
    })
    expect(await producer.send([record(1), record(2)])).toMatchObject({ is: 'ambiguous' })
    expect(disconnect).toHaveBeenCalled()
  })

  it.each(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])('too_large when the broker returns %s', async (type) => {
    const { producer, disconnect } = await producerThat(async (batch) => {
      encode(batch)
      throw protocolError(type)
    })
    expect(await producer.send([record(1)])).toEqual({ is: 'too_large' })
    expect(disconnect).not.toHaveBeenCalled()
  })

  it('ambiguous when it fails after the request was encoded', async () => {
    const { producer } = await producerThat(async (batch) => {
      encode(batch)
      throw protocolError('NOT_ENOUGH_REPLICAS_AFTER_APPEND')
    })
    expect(await producer.send([record(1)])).toMatchObject({ is: 'ambiguous' })
  })

  it('not_sent when it fails before the request was encoded', async () => {
    const { producer, disconnect } = await producerThat(async () => {
      throw new kafkajs.KafkaJSConnectionError('refused')
    })
    expect(await producer.send([record(1)])).toMatchObject({ is: 'not_sent' })
    expect(disconnect).toHaveBeenCalled()
  })

  it('not_sent at the deadline, and later retries of kafkajs send nothing', async () => {
    const late = Promise.withResolvers<void>()
    const encoded: unknown[] = []
    const { producer } = await producerThat(async (batch) => {
      await late.promise
      encoded.push(encode(batch))
      return acknowledged(1)
    }, 10)
    expect(await producer.send([record(1)])).toMatchObject({ is: 'not_sent' })
    late.resolve()
    await late.promise
    expect(encoded).toEqual([])
  })

  it('ambiguous at the deadline when the request was encoded', async () => {
    const { producer } = await producerThat((batch) => {
      encode(batch)
      return new Promise(() => {})
    }, 10)
    expect(await producer.send([record(1)])).toMatchObject({ is: 'ambiguous' })
  })
})
