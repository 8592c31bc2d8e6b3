import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cached, runTool } from './download.ts'
import { StartFault } from './start-fault.ts'

export const defaultKafkaVersion = '4.3.0'

const here = join(import.meta.dirname, 'kafka')

type Request = {
  readonly cache: string
  readonly version: string
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
}

/** The directory with Kafka's jars, fetched by Maven once and compared with the committed checksums. */
export async function kafkaJars({ cache, version, say, signal }: Request): Promise<string> {
  const checksums = readChecksums(version)
  return cached(cache, {
    name: `kafka-${version}-${createHash('sha256')
      .update(JSON.stringify([...checksums]))
      .digest('hex')
      .slice(0, 8)}`,
    fill: async (directory) => {
      await download({ directory, version, expected: checksums.size, say, signal })
      verify(directory, checksums)
    },
  })
}

async function download(of: Omit<Request, 'cache'> & { directory: string; expected: number }): Promise<void> {
  const { directory, version, expected, say, signal } = of
  say(`Downloading Kafka ${version} with Maven (${expected} files, 55 MB; once per user) …`)
  let files = 0
  const result = await runTool({
    command: 'mvn',
    args: [
      ...['--batch-mode', '--file', join(here, 'pom.xml'), `-Dkafka.version=${version}`],
      ...['-Daether.connector.connectTimeout=15000', '-Daether.connector.requestTimeout=60000'],
      ...['dependency:copy-dependencies', `-DoutputDirectory=${directory}`],
    ],
    signal,
    onLine: (line) => {
      if (!/Downloaded from .*\.jar/.test(line)) return
      files += 1
      if (files % 25 === 0) say(`  Kafka: ${files} files so far …`)
    },
  })
  if (!result.found) {
    throw new StartFault(
      'maven_missing',
      'Kafka cannot be downloaded because Maven (mvn) is not installed: install it, or start Docker, or set KAFKA_BROKERS to a broker you have.',
    )
  }
  if (result.exitCode === 0) return
  const log = `${directory.replace(/\/\.([^/]*)$/, '/$1')}.log`
  writeFileSync(log, result.output)
  throw new StartFault(
    'download_failed',
    `Kafka ${version} could not be downloaded with Maven (its output: ${log}): check the network and Maven's settings and run this again, or set KAFKA_BROKERS to a broker you have.`,
  )
}

function readChecksums(version: string): ReadonlyMap<string, string> {
  const path = join(here, `${version}.sha256`)
  if (!existsSync(path)) {
    throw new StartFault(
      'checksum_mismatch',
      `Kafka ${version} has no list of checksums: set KAFKA_VERSION to ${known()}.`,
    )
  }
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return new Map(
    lines.map((line) => {
      const [hash = '', name = ''] = line.split(/\s+/)
      return [name, hash]
    }),
  )
}

function known(): string {
  const lists = readdirSync(here).filter((file) => file.endsWith('.sha256'))
  return lists.map((file) => file.replace('.sha256', '')).join(' or ')
}

function verify(directory: string, checksums: ReadonlyMap<string, string>): void {
  const present = readdirSync(directory)
  const wrong = [...new Set([...present, ...checksums.keys()])].filter(
    (name) => !present.includes(name) || sha256(join(directory, name)) !== checksums.get(name),
  )
  if (wrong.length === 0) return
  throw new StartFault(
    'checksum_mismatch',
    `Kafka's download was not used because ${wrong.join(', ')} is not what was expected: remove ~/.m2/repository/org/apache/kafka and run this again.`,
  )
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
