import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { installKafka } from './kafka-install.ts'
import {
  brokerSettings,
  formatOnce,
  type KafkaSettings,
  kafkaCommand,
  newClusterId,
  propertiesOf,
} from './kafka-node.ts'
import { type NativeServer, type StartContext, startServer } from './native-server.ts'

/** Starts one broker that is also the KRaft controller, on 127.0.0.1, with its data in `<DATA_DIR>/kafka`. */
export async function startKafka(context: StartContext): Promise<NativeServer> {
  const { dataDir, signal, kafkaProperties = {} } = context
  const installed = await installKafka(context)
  const home = join(dataDir.path, 'kafka')
  mkdirSync(home, { recursive: true })
  await formatOnce({ installed, home, settings: settingsOf(1, 2), clusterId: newClusterId(), signal })
  const port = await dataDir.portFor('kafka')
  const settings = settingsOf(port, await dataDir.portFor('kafka-controller'))
  writeFileSync(join(home, 'server.properties'), propertiesOf(settings, kafkaProperties))
  const broker = `127.0.0.1:${port}`
  return startServer(
    {
      name: 'kafka',
      title: 'Kafka',
      ...kafkaCommand({ installed, home, heapMb: 512 }),
      cwd: home,
      addresses: { kafkaBrokers: [broker] },
      probe: () => probeKafka(broker),
    },
    context,
  )
}

/** Rejects while the broker is not registered with its controller. */
export async function probeKafka(broker: string): Promise<void> {
  const admin = createKafka({ brokers: [broker], clientId: 'contact-import.probe' }).admin()
  try {
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    if (brokers.length === 0) throw new Error(`The broker ${broker} is not registered yet.`)
  } finally {
    await admin.disconnect()
  }
}

function settingsOf(port: number, controllerPort: number): KafkaSettings {
  return {
    ...brokerSettings,
    'process.roles': 'broker,controller',
    'node.id': 1,
    // A static quorum, because a dynamic quorum does not accept another port at the next start.
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `CLIENT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${port}`,
    'default.replication.factor': 1,
    'min.insync.replicas': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    // Short, because a killed broker can register again only after its session has expired.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
  }
}
