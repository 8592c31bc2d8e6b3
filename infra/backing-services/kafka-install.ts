import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, cached } from './download.ts'
import type { StartContext } from './native-server.ts'
import { reasonIn, runTool } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

export const defaultKafkaVersion = '4.3.0'

/** For each supported version, the value of `digestOf` for its jars. */
const digests: Readonly<Record<string, string>> = {
  '4.3.0': 'aaa9ffb77e6acf8675ef0b9b5755abdd464ed737e3564df7cc31cdf24d06ee5e',
  '3.9.1': 'ed7348c383f4ff11c0e07f25530b82c9740b8af4249d384a9b41d2b314f0f8df',
}

const oldestJava = 17
const files = join(import.meta.dirname, 'kafka')
const mavenPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
const alternatives = 'start Docker, or set KAFKA_BROKERS to your own brokers'

type Request = Pick<StartContext, 'environment' | 'say' | 'signal'>

export async function installKafka(request: Request): Promise<{ java: string; classPath: string }> {
  const java = await findJava(request)
  const version = request.environment.KAFKA_VERSION || defaultKafkaVersion
  const digest = digests[version]
  if (digest === undefined) {
    throw new StartFault(
      `Kafka ${version} is not supported: set KAFKA_VERSION to one of ${Object.keys(digests).join(', ')}.`,
    )
  }
  const jars = await cached(cacheDir(request.environment), {
    name: `kafka-${version}-${digest.slice(0, 8)}`,
    async fill(directory) {
      await download(version, directory, request)
      if (digestOf(directory) === digest) return
      throw new StartFault(
        `The downloaded Kafka ${version} was rejected, because its files differ from the tested ones: remove ~/.m2/repository and try again.`,
      )
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
      ...[`${mavenPlugin}:copy-dependencies`, `-DoutputDirectory=${directory}`],
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

/** One SHA-256 for a directory: of the lines that `sha256sum *` prints, in the order of the C locale. */
export function digestOf(directory: string): string {
  const names = readdirSync(directory).sort()
  return sha256(names.map((name) => `${sha256(readFileSync(join(directory, name)))}  ${name}\n`).join(''))
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')
