import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fixedDelay, retry } from '#shared/runtime/retry.ts'
import type { Environment } from './child.ts'
import { docker, engineAnswers, hasImages, imagesOf, type ServiceName } from './docker.ts'
import { probeKafka } from './kafka.ts'
import { becomePrimary, mongodbUrl } from './mongodb.ts'
import type { Addresses, StartContext } from './native-server.ts'
import { reasonIn } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

const readyWithinMs = 90_000

/** Whether Docker Compose can run the services. Pulls the images that are missing. */
export async function canUseCompose(context: StartContext, names: readonly ServiceName[]): Promise<boolean> {
  const { environment, signal } = context
  if (!(await engineAnswers(signal))) return false
  if ((await docker(['compose', 'version'], signal)).code !== 0) return false
  const images = imagesOf(environment)
  return hasImages(
    names.map((name) => images[name]),
    context,
  )
}

export async function startByCompose(
  context: StartContext,
  names: readonly ServiceName[],
): Promise<Addresses & { stop(): Promise<void> }> {
  const { dataDir, environment, say, signal } = context
  const project = composeProject(dataDir.path, environment)
  const inUse = (await project.run(['ps', '--quiet'], signal)).output.trim() !== ''
  const ports = { kafka: await dataDir.portFor('kafka', inUse), mongodb: await dataDir.portFor('mongodb', inUse) }
  async function stop() {
    // A new signal: `signal` may already be aborted, and the containers must still be stopped.
    const { code, output } = await project.run(['down', '--remove-orphans'], new AbortController().signal, ports)
    if (code === 0) return
    const command = `docker compose --project-name ${project.name} down`
    say(
      `Docker could not stop Kafka and MongoDB (${reasonIn(output)}). Their data is kept. To stop them, run: ${command}`,
    )
  }
  say('Starting Kafka and MongoDB with Docker Compose …')
  try {
    const { code, output } = await project.run(['up', '--detach', ...names], signal, ports)
    if (code !== 0) throw composeFailed(names, output)
    dataDir.remember({ provider: 'docker' })
    await Promise.all(names.map((name) => untilReady(name, `127.0.0.1:${ports[name]}`, context)))
  } catch (error) {
    await stop()
    throw error
  }
  return {
    ...(names.includes('kafka') && { kafkaBrokers: [`127.0.0.1:${ports.kafka}`] }),
    ...(names.includes('mongodb') && { mongodbUrl: mongodbUrl(`127.0.0.1:${ports.mongodb}`) }),
    stop,
  }
}

const composeFailed = (names: readonly ServiceName[], output: string) =>
  new StartFault(
    `Docker Compose could not start ${names.join(' and ')} (${reasonIn(output)}): correct the fault in Docker, or set KAFKA_BROKERS and MONGODB_URL to your own servers.`,
  )

export async function removeComposeProject(dataDir: string, environment: Environment): Promise<void> {
  const project = composeProject(dataDir, environment)
  const { code, output } = await project.run(['down', '--volumes', '--remove-orphans'], AbortSignal.timeout(120_000))
  if (code === 0) return
  throw new StartFault(
    `Docker could not remove the data (${reasonIn(output)}): start Docker and run npm run reset again.`,
  )
}

/** The Compose file requires ports for every command, so `run` has defaults for commands that do not use them. */
function composeProject(dataDir: string, environment: Environment) {
  const name = `contact-import-${createHash('sha256').update(dataDir).digest('hex').slice(0, 8)}`
  const images = imagesOf(environment)
  const options = ['compose', '--project-name', name, '--file', join(import.meta.dirname, 'compose.yaml')]
  return {
    name,
    run: (
      args: readonly string[],
      signal: AbortSignal,
      ports: Record<ServiceName, number> = { kafka: 1, mongodb: 2 },
    ) =>
      docker([...options, ...args], signal, {
        KAFKA_IMAGE: images.kafka,
        MONGODB_IMAGE: images.mongodb,
        KAFKA_PORT: String(ports.kafka),
        MONGODB_PORT: String(ports.mongodb),
      }),
  }
}

async function untilReady(name: ServiceName, address: string, { dataDir, environment, signal }: StartContext) {
  const probe = () => (name === 'kafka' ? probeKafka(address) : becomePrimary(address))
  const result = await retry(probe, { delays: fixedDelay(100, readyWithinMs), onError: () => {}, signal })
  signal.throwIfAborted()
  if (result.is === 'done') return
  const logFile = join(dataDir.path, `${name}.log`)
  const logs = ['logs', '--no-color', '--no-log-prefix', name]
  writeFileSync(logFile, (await composeProject(dataDir.path, environment).run(logs, signal)).output)
  const message = `${name} in Docker was not ready within ${readyWithinMs / 1_000} s: read ${logFile}.`
  throw new StartFault(message, { cause: result.lastError })
}
