import { randomUUID } from 'node:crypto'
import { GenericContainer, Wait } from 'testcontainers'
import { docker, engineAnswers, hasImages, imagesOf } from '#infra/backing-services/docker.ts'
import { probeKafka } from '#infra/backing-services/kafka-probe.ts'
import { becomePrimary, mongodbUrl } from '#infra/backing-services/mongodb.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { eventually } from '../eventually.ts'

const reaperImage = 'testcontainers/ryuk:0.14.0'
const runLabel = 'contact-import.test-run'
const pulling = { say: (sentence: string) => console.error(sentence), signal: new AbortController().signal }

/** Kafka and MongoDB in containers; undefined where Docker, an image, or the container itself cannot be had. */
export async function startContainers() {
  if (!(await engineAnswers(pulling.signal))) return undefined
  const images = imagesOf(process.env)
  if (!(await hasImages(Object.values(images), { ...pulling, otherwise: 'going on without Docker' }))) return undefined
  await prepareReaper()
  const run = randomUUID()
  const kafkaPort = await freePort()
  const mongodbPort = await freePort([kafkaPort])
  const url = mongodbUrl(`127.0.0.1:${mongodbPort}`)
  const stop = () => removeContainers(run)
  try {
    // One after the other, as two at once start two reapers.
    for (const container of [kafkaContainer(images.kafka, kafkaPort), mongodbContainer(images.mongodb, mongodbPort)]) {
      await container.withLabels({ [runLabel]: run }).start()
    }
    await eventually(() => probeKafka(kafkaPort), { withinMs: 60_000 })
    await eventually(() => becomePrimary(url, `127.0.0.1:${mongodbPort}`), { withinMs: 60_000 })
    return { kafkaBrokers: [`127.0.0.1:${kafkaPort}`], mongodbUrl: url, stop }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    pulling.say(`The containers for the tests did not start (${reason}); going on without Docker.`)
    await stop()
    return undefined
  }
}

/** By label, as testcontainers hands out no handle to a container that did not become ready. */
async function removeContainers(run: string): Promise<void> {
  const found = await docker(['ps', '--all', '--quiet', '--filter', `label=${runLabel}=${run}`], pulling.signal)
  const ids = found.output.split('\n').filter((line) => line !== '')
  if (ids.length > 0) await docker(['rm', '--force', '--volumes', ...ids], pulling.signal)
}

/**
 * Testcontainers fails without its reaper, which removes the containers of tests that were killed. Where that cannot be
 * pulled the tests run all the same and remove their containers themselves. TESTCONTAINERS_RYUK_DISABLED=true asks for no pull.
 */
async function prepareReaper(): Promise<void> {
  if (process.env.TESTCONTAINERS_RYUK_DISABLED === 'true') return
  // Named here, so that what was looked for is what testcontainers takes.
  process.env.RYUK_CONTAINER_IMAGE ||= reaperImage
  const otherwise = 'containers of tests that are killed are left running'
  if (await hasImages([process.env.RYUK_CONTAINER_IMAGE], { ...pulling, otherwise })) return
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
