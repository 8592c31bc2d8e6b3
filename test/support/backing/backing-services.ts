import type { TestProject } from 'vitest/node'
import { startSharedServices } from './shared-services.ts'

export { startOwnKafka, startOwnMongo } from './own-services.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    kafkaBrokers: string[]
    mongodbUrl: string
  }
}

/** Vitest global setup: one Kafka and one MongoDB for all tests of a run. The first project starts them for the others. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startSharedServices()
  project.provide('kafkaBrokers', services.kafkaBrokers)
  project.provide('mongodbUrl', services.mongodbUrl)
  process.env.TEST_KAFKA_BROKERS = services.kafkaBrokers.join(',')
  process.env.TEST_MONGODB_URL = services.mongodbUrl
  return services.stop
}
