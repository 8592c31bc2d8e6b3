import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, cached } from './download.ts'
import type { StartContext } from './native-server.ts'
import { reasonIn, runTool } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

export const defaultKafkaVersion = '4.3.0'

const oldestJava = 17
const files = join(import.meta.dirname, 'kafka')
const alternatives = 'start Docker, or set KAFKA_BROKERS to your own brokers'

type Request = Pick<StartContext, 'environment' | 'say' | 'signal'>

export async function installKafka(request: Request): Promise<{ java: string; classPath: string }> {
  const java = await findJava(request)
  const version = request.environment.KAFKA_VERSION || defaultKafkaVersion
  const list = join(files, `${version}.sha256`)
  if (!existsSync(list)) {
    throw new StartFault(
      `Kafka ${version} is not supported: set KAFKA_VERSION to a version with a checksum file in ${files}.`,
    )
  }
  const checksums = readFileSync(list, 'utf8')
  const jars = await cached(cacheDir(request.environment), {
    name: `kafka-${version}-${sha256(checksums).slice(0, 8)}`,
    async fill(directory) {
      await download(version, directory, request)
      verify(directory, checksums)
    },
  })
  return { java, classPath: join(jars, '*') }
}

async function findJava({ environment: { JAVA_HOME }, signal }: Request): Promise<string> {
  const java = JAVA_HOME ? join(JAVA_HOME, 'bin', 'java') : 'java'
  const { output } = await runTool({ command: java, args: ['-version'], signal })
  const version = javaMajor(output)
  if (version !== undefined && version >= oldestJava) return java
  const found = version === undefined ? 'no Java was found' : `${java} is version ${version}`
  throw new StartFault(`Kafka needs Java ${oldestJava} or newer, but ${found}: install Java, or ${alternatives}.`)
}

export function javaMajor(output: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(output)
  return match?.[1] === undefined ? undefined : Number(match[1])
}

async function download(version: string, directory: string, { say, signal }: Request): Promise<void> {
  say(`Downloading Kafka ${version} with Maven (55 MB; once per user) …`)
  const { found, code, output } = await runTool({
    command: 'mvn',
    args: [
      ...['--batch-mode', '--file', join(files, 'pom.xml'), `-Dkafka.version=${version}`],
      ...['-Daether.connector.connectTimeout=15000', '-Daether.connector.requestTimeout=60000'],
      ...['dependency:copy-dependencies', `-DoutputDirectory=${directory}`],
    ],
    signal,
  })
  if (!found) {
    throw new StartFault(`Maven (mvn), which downloads Kafka, was not found: install Maven, or ${alternatives}.`)
  }
  if (code === 0) return
  throw new StartFault(
    `Maven could not download Kafka (${reasonIn(output)}): check the network and Maven's settings, or ${alternatives}.`,
  )
}

function verify(directory: string, checksums: string): void {
  const downloaded = readdirSync(directory).sort()
  const lines = downloaded.map((name) => `${sha256(readFileSync(join(directory, name)))}  ${name}\n`)
  if (lines.join('') === checksums) return
  const wrong = lines.filter((line) => !checksums.includes(line)).map((line) => line.trimEnd().split('  ')[1])
  const what = wrong.length > 0 ? `the checksum of ${wrong.join(', ')} is wrong` : 'files are missing'
  throw new StartFault(`The downloaded Kafka was rejected because ${what}: remove ~/.m2/repository and try again.`)
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')
