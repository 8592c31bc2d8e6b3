import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Type } from '@sinclair/typebox'
import { type Environment, loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

const MongoConfig = Type.Object(pick(variables, 'MONGODB_URL', 'MONGODB_DATABASE', 'SECRETS_KEY'))
const KafkaConfig = Type.Object(pick(variables, ...kafkaAccessVariables, 'KAFKA_PREFIX'))

/** Throws `ConfigInvalid`, or an error that names the variable to set. */
export function loadMongoConfig(environment: Environment) {
  const running = runningSystem(environment)
  const MONGODB_URL = environment.MONGODB_URL || running.mongodbUrl
  if (!MONGODB_URL) throw addressMissing('MONGODB_URL', running)
  // Use the key of the local system only for its own database.
  const key = environment.SECRETS_KEY || (MONGODB_URL === running.mongodbUrl ? running.secretsKey() : undefined)
  return loadConfig(MongoConfig, { ...environment, MONGODB_URL, SECRETS_KEY: key })
}

export function loadKafkaConfig(environment: Environment) {
  const running = runningSystem(environment)
  const KAFKA_BROKERS = environment.KAFKA_BROKERS || running.kafkaBrokers
  if (!KAFKA_BROKERS) throw addressMissing('KAFKA_BROKERS', running)
  return loadConfig(KafkaConfig, { ...environment, KAFKA_BROKERS })
}

type RunningSystem = {
  readonly path: string
  readonly mongodbUrl?: string
  readonly kafkaBrokers?: string
  readonly secretsKey: () => string | undefined
}

function runningSystem({ DATA_DIR }: Environment): RunningSystem {
  const dataDir = resolve(DATA_DIR || '.data')
  const path = join(dataDir, 'services.json')
  const services = parse(read(path))
  return {
    path,
    ...(typeof services.mongodbUrl === 'string' && { mongodbUrl: services.mongodbUrl }),
    ...(Array.isArray(services.kafkaBrokers) && { kafkaBrokers: services.kafkaBrokers.join(',') }),
    secretsKey: () => read(join(dataDir, 'secrets.key'))?.trim(),
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function parse(text: string | undefined): { readonly mongodbUrl?: unknown; readonly kafkaBrokers?: unknown } {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

const addressMissing = (variable: string, { path }: RunningSystem) =>
  new Error(
    `${variable} is not set, and ${path} has no address of a running system. Nothing was changed. ` +
      `Start the system with npm start, set DATA_DIR to the data folder of the running system, or set ${variable}.`,
  )
