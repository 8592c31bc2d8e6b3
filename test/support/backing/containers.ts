import { randomUUID } from 'node:crypto'
import { GenericContainer, Wait } from 'testcontainers'
import { docker, engineAnswers, hasImages, imagesOf } from '#infra/backing-services/docker.ts'
import { probeKafka } from '#infra/backing-services/kafka.ts'
import { becomePrimary, mongodbUrl } from '#infra/backing-services/mongodb.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'

const reaperImage = 'testcontainers/ryuk:0.14.0'
const runLabel = 'contact-import.test-run'
const context = { say: (sentence: string) => console.error(sentence), signal: new AbortController().signal }

/** Returns undefined when Docker or an image is missing, or a container does not start. */
export async function startContainers() {
  if (!(await engineAnswers(context.signal))) return undefined
  const images = imagesOf(process.env)
  if (!(await hasImages(Object.values(images), context))) return undefined
  await prepareReaper()
  const run = randomUUID()
  const kafkaPort = await freePort()
  const mongodbPort = await freePort([kafkaPort])
  const [broker, mongodb] = [`127.0.0.1:${kafkaPort}`, `127.0.0.1:${mongodbPort}`]
  const stop = () => removeContainers(run)
  try {
    // Sequential, because concurrent starts would create two reapers.
    for (const container of [kafkaContainer(images.kafka, kafkaPort), mongodbContainer(images.mongodb, mongodbPort)]) {
      await container.withLabels({ [runLabel]: run }).start()
    }
    await eventually(() => probeKafka(broker), { withinMs: 60_000 })
    await eventually(() => becomePrimary(mongodb), { withinMs: 60_000 })
    return { kafkaBrokers: [broker], mongodbUrl: mongodbUrl(mongodb), stop }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    context.say(`The containers for the tests did not start (${reason}); the tests run without Docker.`)
    await stop()
    return undefined
  }
}

/** Finds the containers by label, because testcontainers returns no handle to a container that is not ready. */
async function removeContainers(run: string): Promise<void> {
  const found = await docker(['ps', '--all', '--quiet', '--filter', `label=${runLabel}=${run}`], context.signal)
  const ids = found.output.split('\n').filter((line) => line !== '')
  if (ids.length > 0) await docker(['rm', '--force', '--volumes', ...ids], context.signal)
}

/** Disables the testcontainers reaper if its image cannot be pulled. Then containers of killed tests keep running. */
async function prepareReaper(): Promise<void> {
  if (process.env.TESTCONTAINERS_RYUK_DISABLED === 'true') return
  // Testcontainers reads this variable too and uses the same image.
  process.env.RYUK_CONTAINER_IMAGE ||= reaperImage
  if (await hasImages([process.env.RYUK_CONTAINER_IMAGE], context)) return
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true'
}

function kafkaContainer(image: string, port: number): GenericContainer {
  return new GenericContainer(image)
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forListeningPorts())
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@127.0.0.1:19093',
      KAFKA_LISTENERS: `CLIENT://:${port},CONTROLLER://127.0.0.1:19093`,
      KAFKA_ADVERTISED_LISTENERS: `CLIENT://127.0.0.1:${port}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_INTER_BROKER_LISTENER_NAME: 'CLIENT',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '10',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_HEAP_OPTS: '-Xmx512m',
    })
}

function mongodbContainer(image: string, port: number): GenericContainer {
  return new GenericContainer(image)
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forListeningPorts())
    .withCommand([
      'mongod',
      '--bind_ip_all',
      '--port',
      String(port),
      '--replSet',
      'rs0',
      '--wiredTigerCacheSizeGB',
      '0.5',
    ])
}
