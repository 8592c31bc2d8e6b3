import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonIn, runTool } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

export type KafkaSettings = Readonly<Record<string, string | number | boolean>>

export type InstalledKafka = { readonly java: string; readonly classPath: string }

/** The settings of every broker that this project starts. `log.dirs` is relative, because Kafka splits it at commas. */
export const brokerSettings: KafkaSettings = {
  'listener.security.protocol.map': 'CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'inter.broker.listener.name': 'CLIENT',
  'controller.listener.names': 'CONTROLLER',
  'log.dirs': 'data',
  'auto.create.topics.enable': false,
  'offsets.topic.num.partitions': 10,
  // Ten years, so that consumer groups keep their offsets in a system that is rarely started.
  'offsets.retention.minutes': 5_256_000,
  'group.initial.rebalance.delay.ms': 0,
}

/** The text of `server.properties`. `{ours}` in a value of `changes` stands for our value of the same key. */
export function propertiesOf(settings: KafkaSettings, changes: Readonly<Record<string, string>> = {}): string {
  const changed = Object.entries(changes).map(([key, value]) => [
    key,
    value.replace('{ours}', `${settings[key] ?? ''}`),
  ])
  const lines = Object.entries({ ...settings, ...Object.fromEntries(changed) }).map(
    ([key, value]) => `${key}=${value}\n`,
  )
  return lines.join('')
}

type Command = {
  readonly installed: InstalledKafka
  readonly home: string
  readonly heapMb: number
  readonly javaOptions?: readonly string[]
}

/** The command that runs one node with `server.properties` of its folder `home`. */
export function kafkaCommand({ installed: { java, classPath }, home, heapMb, javaOptions = [] }: Command) {
  const args: readonly string[] = [
    ...[`-Xmx${heapMb}m`, '-XX:+ExitOnOutOfMemoryError', '-Djava.awt.headless=true', ...javaOptions],
    `-Dlog4j.configuration=file:${join(import.meta.dirname, 'kafka', 'log4j.properties')}`,
    ...['-cp', classPath, 'kafka.Kafka', join(home, 'server.properties')],
  ]
  return { command: java, args }
}

export const newClusterId = (): string => randomBytes(16).toString('base64url')

type Format = {
  readonly installed: InstalledKafka
  readonly home: string
  readonly settings: KafkaSettings
  readonly clusterId: string
  readonly signal: AbortSignal
}

/** Formats the storage in a temporary folder, then renames it. An interrupted format is repeated at the next start. */
export async function formatOnce({ installed, home, settings, clusterId, signal }: Format): Promise<void> {
  if (existsSync(join(home, 'data'))) return
  const temporary = join(home, 'format')
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { recursive: true })
  writeFileSync(join(temporary, 'server.properties'), propertiesOf(settings))
  const { code, output } = await runTool({
    command: installed.java,
    args: [
      ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-cp', installed.classPath, 'kafka.tools.StorageTool', 'format'],
      // Without the equals sign, an id that begins with a dash would be parsed as an option.
      ...[`--cluster-id=${clusterId}`, '--config', 'server.properties'],
    ],
    cwd: temporary,
    signal,
  })
  if (code !== 0) throw new StartFault(`Kafka's storage in ${home} could not be formatted: ${reasonIn(output)}`)
  renameSync(join(temporary, 'data'), join(home, 'data'))
  rmSync(temporary, { recursive: true })
}
