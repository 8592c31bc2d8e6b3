import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, runTool } from './download.ts'
import { findJava } from './java.ts'
import { defaultKafkaVersion, kafkaJars } from './kafka-download.ts'
import { probeKafka } from './kafka-probe.ts'
import type { KafkaProperties, ProviderRequest } from './provider.ts'
import { isLeftRunning, portFor } from './remembered-ports.ts'
import { StartFault } from './start-fault.ts'
import { type SupervisedChild, superviseChild } from './supervised-child.ts'

export type NativeKafka = { readonly brokers: readonly string[]; readonly child: SupervisedChild }

/** One broker that is its own controller (KRaft), on loopback, with its data in `<DATA_DIR>/kafka`. */
export async function startKafka(request: ProviderRequest): Promise<NativeKafka> {
  const { dataDir, environment, supervision, kafkaProperties = {} } = request
  const { services, say, signal } = supervision
  const version = environment.KAFKA_VERSION || defaultKafkaVersion
  const java = await findJava(environment, signal)
  const jars = await kafkaJars({ cache: cacheDir(environment), version, say, signal })
  const held = isLeftRunning('kafka', services)
  const port = await portFor('kafka', services, held)
  const controllerPort = await portFor('kafka-controller', services, held)
  const home = join(dataDir, 'kafka')
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'server.properties'), serverProperties({ port, controllerPort }, kafkaProperties))
  await formatOnce({ java, jars, home, signal })
  const broker = `127.0.0.1:${port}`
  const child = await superviseChild(
    {
      name: 'kafka',
      title: 'Kafka',
      command: java,
      args: [
        ...['-Xmx512m', '-XX:+ExitOnOutOfMemoryError', '-Djava.awt.headless=true'],
        `-Dlog4j.configuration=file:${join(import.meta.dirname, 'kafka', 'log4j.properties')}`,
        ...['-cp', join(jars, '*'), 'kafka.Kafka', 'server.properties'],
      ],
      cwd: home,
      logFile: join(dataDir, 'kafka.log'),
      readyWithinMs: 60_000,
      stopWithinMs: 20_000,
      probe: () => probeKafka(port),
    },
    supervision,
  )
  return { brokers: [broker], child }
}

/** Paths are relative to `<DATA_DIR>/kafka`, as a comma in an absolute one would make two of it. */
export function serverProperties(
  { port, controllerPort }: { port: number; controllerPort: number },
  more: KafkaProperties = {},
): string {
  const settings: Readonly<Record<string, string | number | boolean>> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    // The static list: unlike the dynamic quorum it allows another port at the next start, and 3.9 knows it as well.
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
    // A development system may rest for months; its consumers must find their place again.
    'offsets.retention.minutes': 5_256_000,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    // A broker that was killed may register again only after its last session has ended.
    'broker.session.timeout.ms': 4_000,
    'broker.heartbeat.interval.ms': 1_000,
  }
  const replaced = Object.entries(more).map(([key, value]) => [
    key,
    value.replace('{ours}', String(settings[key] ?? '')),
  ])
  return Object.entries({ ...settings, ...Object.fromEntries(replaced) })
    .map(([key, value]) => `${key}=${value}\n`)
    .join('')
}

type Format = { readonly java: string; readonly jars: string; readonly home: string; readonly signal: AbortSignal }

/** Formats the storage aside and renames it: a format that was interrupted leaves nothing that looks formatted. */
async function formatOnce({ java, jars, home, signal }: Format): Promise<void> {
  if (existsSync(join(home, 'data'))) return
  const aside = join(home, 'format')
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside)
  writeFileSync(join(aside, 'server.properties'), serverProperties({ port: 1, controllerPort: 2 }))
  const id = clusterId()
  const { exitCode, output } = await runTool({
    command: java,
    args: [
      ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', join(jars, '*')],
      ...['kafka.tools.StorageTool', 'format', '--cluster-id', id, '--config', 'server.properties'],
    ],
    cwd: aside,
    signal,
  })
  if (exitCode !== 0) {
    const reason = output.trimEnd().split('\n').at(-1) ?? ''
    throw new StartFault('backing_service_failed', `Kafka's storage in ${home} could not be formatted: ${reason}`)
  }
  renameSync(join(aside, 'data'), join(home, 'data'))
  rmSync(aside, { recursive: true, force: true })
}

/** 16 random bytes, base64url; not with a dash in front, which the tool would take for an option. */
function clusterId(): string {
  const id = randomBytes(16).toString('base64url')
  return id.startsWith('-') ? clusterId() : id
}
