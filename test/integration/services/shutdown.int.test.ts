import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fixedDelay, retry, tryAgain } from '#shared/runtime/retry.ts'
import { startOwnKafka, startOwnMongo } from '#test/support/backing/backing-services.ts'
import { createTestEnvironment } from '#test/support/backing/test-environment.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { eventually } from '#test/support/eventually.ts'
import { createProducer } from '#test/support/http/producer.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const programs = [
  ...['ingest', 'query', 'dispatcher', 'projector'].map((service) => `services/${service}/main.ts`),
  'infra/start/watched-services.ts', // all services in one process, like npm start
]

async function startAll() {
  const [kafka, mongo] = await Promise.all([startOwnKafka(), startOwnMongo()])
  const dataDir = mkdtempSync(join(tmpdir(), 'contact-import-shutdown-'))
  const processes: ServiceProcess[] = []
  onTestFinished(async () => {
    for (const process of processes) process.kill('SIGKILL')
    await Promise.all([kafka.stop(), mongo.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  })
  const own = await createTestEnvironment(kafka.brokers, mongo.url)
  onTestFinished(() => own.mongo.close())
  const variables = { ...own.environment, DATA_DIR: dataDir, AI_SYSTEM_URL: 'http://127.0.0.1:1' }
  for (const program of programs) processes.push(await startServiceProcess(program, variables))
  for (const { url } of processes) {
    await eventually(async () => expect(await readiness(url)).toBe(200), { withinMs: 60_000 })
  }
  return { processes, producer: createProducer(processes[0]?.url ?? '', own.apiKey), kafka, mongodb: mongo }
}

async function readiness(url: string): Promise<number> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })
  await response.arrayBuffer()
  return response.status
}

/** Sends SIGTERM and asks for the readiness until the process does not answer. Times in seconds after SIGTERM. */
async function shutDown(process: ServiceProcess) {
  const since = performance.now()
  const seconds = () => (performance.now() - since) / 1_000
  process.kill('SIGTERM')
  let lastAnswer = 0
  const statuses = new Set<number>()
  const ask = async () => {
    const status = await readiness(process.url).catch(() => 0)
    if (status === 0) return
    const isBeforeTheSignal = status === 200 && statuses.size === 0
    if (!isBeforeTheSignal) statuses.add(status)
    lastAnswer = seconds()
    return tryAgain
  }
  await retry(ask, { delays: fixedDelay(100) })
  await process.exited
  return { statuses: [...statuses], lastAnswer, exit: seconds() }
}

test.each([{ server: 'kafka' as const }, { server: 'mongodb' as const }])(
  'with a hanging $server, a shutdown takes less than 30 s, and /readyz answers 503 until its end',
  async ({ server }) => {
    const { processes, producer, ...servers } = await startAll()
    const body = JSON.stringify(sampleContacts({ count: 50, seed: 1 }))
    expect((await producer.post(body)).status).toBe(202)
    await servers[server].pause()
    const shutdowns = await Promise.all(processes.map(shutDown))
    for (const [index, { statuses, lastAnswer, exit }] of shutdowns.entries()) {
      const program = programs[index]
      expect(
        statuses.filter((status) => status !== 503),
        program,
      ).toEqual([])
      expect(exit, program).toBeLessThan(30)
      expect(exit - lastAnswer, `${program}: seconds without an answer before the exit`).toBeLessThan(5)
    }
  },
  180_000,
)
