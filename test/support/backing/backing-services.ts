import type { TestProject } from 'vitest/node'
import { startSharedServices } from './shared-services.ts'

export { startOwnKafka, startOwnMongo } from './own-services.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    kafkaBrokers: string[]
    mongodbUrl: string
  }
}

/** Global setup: starts one Kafka and one MongoDB for the tests of a project, and ends them after the last test. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startSharedServices()
  project.provide('kafkaBrokers', services.kafkaBrokers)
  project.provide('mongodbUrl', services.mongodbUrl)
  return services.stop
}
