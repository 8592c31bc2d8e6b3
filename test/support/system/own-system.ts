import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SimulatedAiSystem, startSimulatedAiSystem } from '#infra/ai-system/simulated-ai-system.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { startDev } from '#services/dev/main.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { removeOwnTopics } from '../backing/own-topics.ts'
import { createProducer, type Producer } from '../http/producer.ts'

export type OwnSystem = {
  readonly url: string
  readonly apiKey: string
  readonly producer: Producer
  readonly ai: SimulatedAiSystem
  readonly environment: Readonly<Record<string, string>>
  errorLines(): readonly string[]
  stop(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

type Options = {
  readonly kafkaBrokers: readonly string[]
  readonly mongodbUrl: string
  readonly environment?: Readonly<Record<string, string>>
}

export async function startOwnSystem({ kafkaBrokers, mongodbUrl, environment = {} }: Options): Promise<OwnSystem> {
  const id = randomUUID().slice(0, 8)
  const dataDir = mkdtempSync(join(tmpdir(), 'contact-import-system-'))
  const ai = await startSimulatedAiSystem({ port: 0 })
  const port = await freePort()
  const variables = {
    DATA_DIR: dataDir,
    HTTP_PORT: String(port),
    KAFKA_BROKERS: kafkaBrokers.join(','),
    KAFKA_PREFIX: `t${id}.`,
    MONGODB_URL: mongodbUrl,
    MONGODB_DATABASE: `test_${id}`,
    AI_SYSTEM_URL: ai.url,
    SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
    ...environment,
  }
  let running: { stop(): Promise<void> } | null = await startDev(variables, () => {})
  const apiKey: string = JSON.parse(readFileSync(join(dataDir, 'demo-client.json'), 'utf8')).api_key
  const url = `http://127.0.0.1:${port}`

  async function stop() {
    await running?.stop()
    running = null
  }

  return {
    url,
    apiKey,
    producer: createProducer(url, apiKey),
    ai,
    environment: variables,
    errorLines: () =>
      readFileSync(join(dataDir, 'services.log'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('"level":"error"')),
    stop,
    async start() {
      running ??= await startDev(variables, () => {})
    },
    async remove() {
      await stop()
      await ai.stop()
      await removeOwnTopics(createKafka({ brokers: kafkaBrokers, clientId: 'test' }), variables.KAFKA_PREFIX)
      const mongo = createMongo({ url: mongodbUrl, database: variables.MONGODB_DATABASE })
      await mongo.db.dropDatabase()
      await mongo.close()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
