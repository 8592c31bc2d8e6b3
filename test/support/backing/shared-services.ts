import { startAttachedServices } from './attached-services.ts'
import { startContainers } from './containers.ts'

export type SharedServices = {
  readonly kafkaBrokers: string[]
  readonly mongodbUrl: string
  readonly stop: () => Promise<void>
}

/**
 * Kafka and MongoDB for a test run: the servers of TEST_KAFKA_BROKERS and TEST_MONGODB_URL if both are set, otherwise
 * containers if Docker runs and the images are present or can be pulled, otherwise native processes.
 */
export async function startSharedServices(): Promise<SharedServices> {
  const { TEST_KAFKA_BROKERS: brokers = '', TEST_MONGODB_URL: url = '' } = process.env
  if (brokers !== '' && url !== '') return { kafkaBrokers: brokers.split(','), mongodbUrl: url, stop: async () => {} }
  const containers = await startContainers()
  if (containers !== undefined) return containers
  const services = await startAttachedServices()
  const { kafkaBrokers, mongodbUrl } = services.addresses()
  return { kafkaBrokers, mongodbUrl, stop: services.stop }
}
