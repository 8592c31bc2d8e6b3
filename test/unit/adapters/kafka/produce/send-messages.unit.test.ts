import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

/** The producer of kafkajs 2.2.4 that `createLane` replaces; see `createBrokerOpener`. */
const load = createRequire(import.meta.url)
const createSendMessages = load('kafkajs/src/producer/sendMessages')
const createEosManager = load('kafkajs/src/producer/eosManager')
const createRetry = load('kafkajs/src/retry')
const { createErrorFromCode } = load('kafkajs/src/protocol/error')

const notLeader = 6

type Produced = {
  readonly topicData: readonly { partitions: readonly { partition: number; firstSequence: number }[] }[]
}

it('the producer of kafkajs stores a batch twice when another leader answers first with NOT_LEADER', async () => {
  const slowAnswer = Promise.withResolvers<void>()
  const stored: { partition: number; firstSequence: number }[] = []
  let refusals = 1

  const broker = (nodeId: number, onProduce: () => Promise<void>) => ({
    nodeId,
    async produce({ topicData }: Produced) {
      const [{ partition, firstSequence } = { partition: -1, firstSequence: -1 }] = topicData[0]?.partitions ?? []
      await onProduce()
      stored.push({ partition, firstSequence })
      return { topics: [{ topicName: 'imports', partitions: [{ partition, errorCode: 0 }] }] }
    },
    initProducerId: async () => ({ producerId: '1', producerEpoch: 0 }),
  })
  const brokers = [
    broker(0, () => slowAnswer.promise),
    broker(1, async () => {
      if (refusals === 0) return slowAnswer.resolve() // the first leader answers during the retry
      refusals -= 1
      throw createErrorFromCode(notLeader)
    }),
  ]
  const retry = { initialRetryTime: 1, retries: 3 }
  const cluster = {
    retry,
    isConnected: () => true,
    refreshMetadata: async () => {},
    refreshMetadataIfNecessary: async () => {},
    addMultipleTargetTopics: async () => {},
    removeBroker: () => {},
    findTopicPartitionMetadata: () => [{ partitionId: 0 }, { partitionId: 1 }],
    findLeaderForPartitions: () => ({ 0: [0], 1: [1] }),
    findBroker: async ({ nodeId }: { nodeId: string }) => brokers[Number(nodeId)],
    findControllerBroker: async () => brokers[0],
  }
  const logger = { debug: () => {}, warn: () => {}, error: () => {} }
  const eosManager = createEosManager({ logger, cluster, transactional: false })
  await eosManager.initProducerId()
  const send = createSendMessages({
    logger,
    cluster,
    eosManager,
    retrier: createRetry(retry),
    partitioner: ({ message }: { message: { partition: number } }) => message.partition,
  })

  await send({ acks: -1, topicMessages: [{ topic: 'imports', messages: [{ partition: 0 }, { partition: 1 }] }] })
  expect(stored.filter(({ partition }) => partition === 0)).toEqual([
    { partition: 0, firstSequence: 0 },
    { partition: 0, firstSequence: 1 }, // A new sequence number, so a broker stores the batch again.
  ])
})
