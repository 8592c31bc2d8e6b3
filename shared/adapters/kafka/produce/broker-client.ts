import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import kafkajs, { type Kafka, type Logger, type Message } from 'kafkajs'
import type { Topic } from '#schemas/events/catalogue.ts'
import type { RecordMark } from '#shared/ports/event-log.ts'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { type PlacedRecord, toMessage } from './record.ts'

/** Identifies one idempotent producer to the brokers. `producerId` is a 64-bit number as kafkajs decodes it. */
export type ProducerId = { readonly producerId: unknown; readonly producerEpoch: number }

export type SequencedBatch = {
  readonly partition: number
  readonly firstSequence: number
  readonly records: readonly PlacedRecord[]
}

/** `errorCode` is a code of the Kafka protocol; 0 means success. `first`: the first record of the batch, when known. */
export type PartitionAnswer = { readonly partition: number; readonly errorCode: number; readonly first?: RecordMark }

export type BrokerAddress = { readonly nodeId: number; readonly host: string; readonly port: number }

/** `leader` is -1 while a partition has no leader. */
export type PartitionMetadata = { readonly partition: number; readonly leader: number; readonly isr: readonly number[] }

export type TopicMetadata = {
  readonly brokers: readonly BrokerAddress[]
  readonly partitions: readonly PartitionMetadata[]
}

/** The connections to one broker. Each request is sent once; its promise rejects when the connection is lost. */
export type BrokerClient = {
  /** Whether the connection for `produce` is open. */
  isConnected(): boolean
  metadata(): Promise<TopicMetadata>
  newProducerId(): Promise<ProducerId>
  /** Answers per partition after all in-sync replicas have stored the batches, or after `replicationTimeoutMs`. */
  produce(producer: ProducerId, batches: readonly SequencedBatch[]): Promise<readonly PartitionAnswer[]>
  /** Closes the connections at once. Requests in flight reject. */
  close(): void
}

/** Connects to this broker, or to the next bootstrap broker. */
export type OpenBroker = (address?: BrokerAddress) => Promise<BrokerClient>

/** Time the broker waits for its replicas. Below the 10 s request timeout, so that the broker's error arrives. */
const replicationTimeoutMs = 8_000
/** A stopped broker process accepts connections, but never answers the first request. */
const connectTimeoutMs = 3_000

const codecs = { zstd: kafkajs.CompressionTypes.ZSTD, gzip: kafkajs.CompressionTypes.GZIP } as const

/** The parts of kafkajs 2.2.4 that this file uses: src/broker, src/network and src/protocol/requests. */
type Exchange = { readonly request: unknown; readonly response: { decode(payload: Buffer): Promise<unknown> } }
type Connection = {
  readonly socket?: Socket
  readonly requestQueue: { readonly inflight: ReadonlyMap<number, unknown> }
  isConnected(): boolean
  send(exchange: object): Promise<unknown>
  disconnect(): Promise<unknown>
}
type ConnectionPool = { readonly pool: readonly Connection[]; getConnection(index: number): Promise<Connection> }
type Broker = {
  readonly connectionPool: ConnectionPool
  connect(): Promise<void>
  lookupRequest(apiKey: number, definition: unknown): (options: object) => Exchange
}
type Cluster = {
  readonly connectionPoolBuilder: { build(address?: { host: string; port: number }): Promise<ConnectionPool> }
}
type NewBroker = new (options: {
  connectionPool: ConnectionPool
  logger: Logger
  nodeId: number | null
  allowAutoTopicCreation: boolean
}) => Broker

const load = createRequire(import.meta.url)
const Broker: NewBroker = load('kafkajs/src/broker')
const apiKeys: Record<'Produce' | 'Metadata' | 'InitProducerId', number> = load('kafkajs/src/protocol/requests/apiKeys')
const { requests }: { requests: Record<string, unknown> } = load('kafkajs/src/protocol/requests')

export type BrokerOptions = {
  readonly kafka: Kafka
  /** The name of the topic in the cluster. */
  readonly topic: string
  readonly compression: Topic['compression']
}

/**
 * Opens brokers without the producer of kafkajs 2.2.4, for two reasons. A retry of its `sendBatch` gives new sequence
 * numbers to batches that are already stored or in flight. It also reports one error for a whole request.
 */
export function createBrokerOpener({ kafka, topic, compression }: BrokerOptions): OpenBroker {
  const { connectionPoolBuilder } = clusterOf(kafka)
  return async (address) => {
    const connectionPool = await connectionPoolBuilder.build(address && { host: address.host, port: address.port })
    const nodeId = address?.nodeId ?? null
    const broker = new Broker({ connectionPool, logger: kafka.logger(), nodeId, allowAutoTopicCreation: false })
    const close = () => closeConnections(connectionPool)
    await withDeadline(broker.connect(), connectTimeoutMs, () => {
      throw new kafkajs.KafkaJSConnectionError(`No answer within ${connectTimeoutMs} ms.`)
    }).catch((error: unknown) => {
      close()
      throw error
    })
    return clientOf(broker, { topic, compression, close })
  }
}

/** kafkajs keeps the factory of its cluster objects, with the TLS and SASL options, under a private symbol. */
function clusterOf(kafka: Kafka): Cluster {
  const factory = Object.getOwnPropertySymbols(kafka).find(({ description = '' }) =>
    /:createCluster$/.test(description),
  )
  if (factory === undefined) throw new TypeError('This version of kafkajs has no cluster factory.')
  return Reflect.get(kafka, factory)({}) as Cluster
}

type ClientParts = Pick<BrokerOptions, 'topic' | 'compression'> & Pick<BrokerClient, 'close'>

function clientOf(broker: Broker, { topic, compression, close }: ClientParts): BrokerClient {
  const { connectionPool } = broker

  /** Returns the decoded response. kafkajs would throw the first error of any partition instead. */
  async function exchange<T>(name: keyof typeof apiKeys, options: object, connection: number): Promise<T> {
    const { request, response } = broker.lookupRequest(apiKeys[name], requests[name])(options)
    const parse = async (decoded: unknown) => decoded
    const open = await connectionPool.getConnection(connection)
    return (await open.send({ request, response: { decode: response.decode, parse } })) as T
  }

  /** Selects the second connection while `produce` waits: a broker answers the requests of one connection in order. */
  const idleConnection = () => (connectionPool.pool[0]?.requestQueue.inflight.size === 0 ? 0 : 1)

  return {
    isConnected: () => connectionPool.pool[0]?.isConnected() ?? false,
    metadata: async () =>
      toTopicMetadata(await exchange('Metadata', { topics: [topic], allowAutoTopicCreation: false }, idleConnection())),
    async newProducerId() {
      const answer = await exchange<ProducerId & { errorCode: number }>('InitProducerId', {}, idleConnection())
      if (answer.errorCode !== 0) throw new Error(`The broker assigned no producer id: error ${answer.errorCode}.`)
      return { producerId: answer.producerId, producerEpoch: answer.producerEpoch }
    },
    async produce(producer, batches) {
      const partitions = batches.map(({ partition, firstSequence, records }) => {
        const messages: Message[] = records.map(toMessage)
        return { partition, firstSequence, messages }
      })
      const request = {
        acks: -1,
        timeout: replicationTimeoutMs,
        compression: codecs[compression],
        ...producer,
        topicData: [{ topic, partitions }],
      }
      const { topics } = await exchange<{ topics: { partitions: ProducedPartition[] }[] }>('Produce', request, 0)
      return topics.flatMap((one) => one.partitions.map(toPartitionAnswer))
    },
    close,
  }
}

/** Both numbers are -1 when the broker does not know them. */
type ProducedPartition = {
  readonly partition: number
  readonly errorCode: number
  readonly baseOffset: string
  readonly logAppendTime: string
}

function toPartitionAnswer({ partition, errorCode, baseOffset, logAppendTime }: ProducedPartition): PartitionAnswer {
  const first = { offset: Number(baseOffset), appendedAt: Number(logAppendTime) }
  return first.offset >= 0 && first.appendedAt >= 0 ? { partition, errorCode, first } : { partition, errorCode }
}

type MetadataResponse = {
  readonly brokers: readonly BrokerAddress[]
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly {
      readonly partitionId: number
      readonly leader: number
      readonly isr: readonly number[]
    }[]
  }[]
}

const toTopicMetadata = ({ brokers, topicMetadata }: MetadataResponse): TopicMetadata => ({
  brokers: brokers.map(({ nodeId, host, port }) => ({ nodeId, host, port })),
  partitions: topicMetadata.flatMap(({ partitionMetadata }) =>
    partitionMetadata.map(({ partitionId, leader, isr }) => ({ partition: partitionId, leader, isr })),
  ),
})

/** `disconnect` of kafkajs waits for requests in flight; an error on the socket rejects them. */
function closeConnections({ pool }: ConnectionPool): void {
  for (const connection of pool) {
    const { socket, requestQueue } = connection
    const busy = requestQueue.inflight.size > 0 || socket?.connecting
    if (busy) socket?.destroy(new Error('This client closed the connection because the broker did not answer.'))
    else if (connection.isConnected()) connection.disconnect().catch(() => {})
  }
}
