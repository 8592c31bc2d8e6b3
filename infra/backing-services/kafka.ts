import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { installKafka } from './kafka-install.ts'
import { type NativeServer, type StartContext, startServer } from './native-server.ts'
import { reasonIn, runTool } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

/** Starts one broker that is also the KRaft controller, on 127.0.0.1, with its data in `<DATA_DIR>/kafka`. */
export async function startKafka(context: StartContext): Promise<NativeServer> {
  const { dataDir, signal, kafkaProperties = {} } = context
  const { java, classPath } = await installKafka(context)
  const home = join(dataDir.path, 'kafka')
  mkdirSync(home, { recursive: true })
  await formatOnce({ java, classPath, home, signal })
  const port = await dataDir.portFor('kafka')
  const settings = serverProperties(port, await dataDir.portFor('kafka-controller'), kafkaProperties)
  writeFileSync(join(home, 'server.properties'), settings)
  const broker = `127.0.0.1:${port}`
  return startServer(
    {
      name: 'kafka',
      title: 'Kafka',
      command: java,
      args: [
        ...['-Xmx512m', '-XX:+ExitOnOutOfMemoryError', '-Djava.awt.headless=true'],
        `-Dlog4j.configuration=file:${join(import.meta.dirname, 'kafka', 'log4j.properties')}`,
        ...['-cp', classPath, 'kafka.Kafka', join(home, 'server.properties')],
      ],
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

/** `log.dirs` is relative, because an absolute path may contain a comma, which Kafka reads as a separator. */
function serverProperties(port: number, controllerPort: number, changes: Readonly<Record<string, string>>): string {
  const settings: Readonly<Record<string, string | number | boolean>> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // A static quorum, because a dynamic quorum does not accept another port at the next start.
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `CLIENT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': 'data',
    'auto.create.topics.enable': false,
    'default.replication.factor': 1,
    'min.insync.replicas': 1,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 10,
    // Ten years, so that consumer groups keep their offsets in a system that is rarely started.
    'offsets.retention.minutes': 5_256_000,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // Short, because a killed broker can register again only after its session has expired.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
  }
  const changed = Object.entries(changes).map(([key, value]) => [
    key,
    value.replace('{ours}', `${settings[key] ?? ''}`),
  ])
  const lines = Object.entries({ ...settings, ...Object.fromEntries(changed) }).map(
    ([key, value]) => `${key}=${value}\n`,
  )
  return lines.join('')
}

type Format = { readonly java: string; readonly classPath: string; readonly home: string; readonly signal: AbortSignal }

/** Formats the storage in a temporary folder, then renames it. An interrupted format is repeated at the next start. */
async function formatOnce({ java, classPath, home, signal }: Format): Promise<void> {
  if (existsSync(join(home, 'data'))) return
  const temporary = join(home, 'format')
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary)
  writeFileSync(join(temporary, 'server.properties'), serverProperties(1, 2, {}))
  const { code, output } = await runTool({
    command: java,
    args: [
      ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', classPath, 'kafka.tools.StorageTool', 'format'],
      // Without the equals sign, an id that begins with a dash would be parsed as an option.
      ...[`--cluster-id=${randomBytes(16).toString('base64url')}`, '--config', 'server.properties'],
    ],
    cwd: temporary,
    signal,
  })
  if (code !== 0) throw new StartFault(`Kafka's storage in ${home} could not be formatted: ${reasonIn(output)}`)
  renameSync(join(temporary, 'data'), join(home, 'data'))
  rmSync(temporary, { recursive: true })
}
