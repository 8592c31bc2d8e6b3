import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { docker, engineAnswers, hasImages, imagesOf, reasonOf } from './docker.ts'
import { probeKafka } from './kafka-probe.ts'
import { becomePrimary, mongodbUrl } from './mongodb.ts'
import type { ProviderRequest, ServiceName, StartedServices } from './provider.ts'
import { portFor } from './remembered-ports.ts'
import { StartFault } from './start-fault.ts'

const readyWithinMs = 90_000
/** For commands in which the ports do not matter; Compose refuses 0. */
const anyPorts = { kafka: 1, mongodb: 2 }

/** Whether Docker Compose can run the named services here, images included. */
export async function dockerIsUsable(request: ProviderRequest, names: readonly ServiceName[]): Promise<boolean> {
  const { signal, say } = request.supervision
  if (!(await engineAnswers(signal))) return false
  if ((await docker(['compose', 'version'], signal)).exitCode !== 0) return false
  const images = imagesOf(request.environment)
  return hasImages(
    names.map((name) => images[name]),
    { say, signal, otherwise: 'going on without Docker' },
  )
}

/**
 * The named services as a Docker Compose project of their own per data directory, with their data in its volumes.
 * What the last start left running is used again: `up` starts only what does not run.
 */
export async function startByDocker(request: ProviderRequest, names: readonly ServiceName[]): Promise<StartedServices> {
  const { dataDir, environment, supervision } = request
  const { services, say, signal } = supervision
  const running = await docker(compose(dataDir, ['ps', '--quiet']), signal, variables(environment, anyPorts))
  const held = running.exitCode === 0 && running.output.trim() !== ''
  const ports = {
    kafka: await portFor('kafka', services, held),
    mongodb: await portFor('mongodb', services, held),
  }
  const env = variables(environment, ports)
  const stop = async () => {
    // Not with the signal of the start: what Compose has begun must end also when that was aborted.
    const stopped = await docker(compose(dataDir, ['down', '--remove-orphans']), new AbortController().signal, env)
    if (stopped.exitCode === 0) return
    const command = `docker compose --project-name ${projectOf(dataDir)} down`
    say(`Kafka and MongoDB in Docker were not stopped (${reasonOf(stopped)}); nothing is lost: run ${command}.`)
  }
  say('Starting Kafka and MongoDB with Docker Compose …')
  try {
    const up = await docker(compose(dataDir, ['up', '--detach', ...names]), signal, env)
    if (up.exitCode !== 0) {
      throw new StartFault(
        'backing_service_failed',
        `Docker Compose could not start ${names.join(' and ')}: ${reasonOf(up)}`,
      )
    }
    services.remember({ provider: 'docker' })
    await Promise.all(names.map((name) => untilServing(name, ports[name], { dataDir, env, signal })))
    return {
      addresses: {
        ...(names.includes('kafka') ? { kafkaBrokers: [`127.0.0.1:${ports.kafka}`] } : {}),
        ...(names.includes('mongodb') ? { mongodbUrl: mongodbUrl(`127.0.0.1:${ports.mongodb}`) } : {}),
      },
      children: new Map(),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Removes the containers of a data directory with all their data. */
export async function removeDockerServices(dataDir: string): Promise<void> {
  const env = variables(process.env, anyPorts)
  const signal = AbortSignal.timeout(120_000)
  const down = await docker(compose(dataDir, ['down', '--volumes', '--remove-orphans']), signal, env)
  if (down.exitCode === 0) return
  throw new StartFault(
    'docker_missing',
    `The data in Docker could not be removed (${reasonOf(down)}): start Docker and run this again.`,
  )
}

/** The project is named after the data directory: two directories are two projects, in every checkout. */
function projectOf(dataDir: string): string {
  return `contact-import-${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
}

function compose(dataDir: string, args: readonly string[]): readonly string[] {
  const file = join(import.meta.dirname, 'compose.yaml')
  return ['compose', '--project-name', projectOf(dataDir), '--file', file, ...args]
}

function variables(environment: ProviderRequest['environment'], ports: Record<ServiceName, number>) {
  const images = imagesOf(environment)
  return {
    KAFKA_IMAGE: images.kafka,
    MONGODB_IMAGE: images.mongodb,
    KAFKA_PORT: String(ports.kafka),
    MONGODB_PORT: String(ports.mongodb),
  }
}

type Starting = {
  readonly dataDir: string
  readonly env: Record<string, string>
  readonly signal: AbortSignal
}

async function untilServing(name: ServiceName, port: number, starting: Starting): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  for (;;) {
    try {
      if (name === 'kafka') return await probeKafka(port)
      return await becomePrimary(mongodbUrl(`127.0.0.1:${port}`), `127.0.0.1:${port}`)
    } catch (cause) {
      starting.signal.throwIfAborted()
      if (Date.now() > deadline) {
        throw new StartFault(
          'backing_service_failed',
          `${name} in Docker did not answer within 90 s: the reason should be in ${await keepLog(name, starting)}.`,
          { cause },
        )
      }
      await delay(100)
    }
  }
}

/** Copies the log of a service into the data directory, as the failed start removes the container with its own. */
async function keepLog(name: ServiceName, { dataDir, env, signal }: Starting): Promise<string> {
  const file = join(dataDir, `${name}.log`)
  const { output } = await docker(compose(dataDir, ['logs', '--no-color', '--no-log-prefix', name]), signal, env)
  writeFileSync(file, output)
  return file
}
