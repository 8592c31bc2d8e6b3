import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isRunning } from '#infra/backing-services/leftovers.ts'
import { eventually } from '#test/support/eventually.ts'
import { pathWith, startProject } from '#test/support/system/start-process.ts'

let project: Awaited<ReturnType<typeof startProject>>

beforeEach(async () => {
  project = await startProject()
})
afterEach(() => project.remove())

async function variablesOfServices() {
  const response = await fetch(`http://127.0.0.1:${project.port}`)
  return (await response.json()) as Record<'KAFKA_BROKERS' | 'MONGODB_URL' | 'AI_SYSTEM_URL' | 'SECRETS_KEY', string>
}

const exitCode = async ({ exited }: { exited: Promise<{ code: number | null }> }) => (await exited).code

test('Ctrl-C on npm start, pressed twice, ends everything with exit code 0', async () => {
  const start = await project.start({ command: ['npm', 'start'] })
  await start.until(/^ready /m)
  const processes = project.processes()
  expect(processes).toHaveLength(3)
  start.kill('SIGINT')
  start.kill('SIGINT')
  expect(await exitCode(start), start.output()).toBe(0)
  expect(processes.filter(isRunning)).toEqual([])
  expect(project.services()).toEqual({})
})

test('Ctrl-C during the start leaves no process behind', async () => {
  const start = await project.start()
  await eventually(() => expect(project.processes().length).toBeGreaterThan(0))
  const processes = project.processes()
  start.kill('SIGINT')
  expect(await exitCode(start)).toBe(0)
  expect([...processes, ...project.processes()].filter(isRunning)).toEqual([])
  expect(start.output()).not.toContain('ready')
})

test('after kill -9 the next start replaces the processes and keeps addresses, data and key', async () => {
  const first = await project.start()
  await first.until(/^ready /m)
  const before = project.processes()
  const variables = await variablesOfServices()
  const client = await MongoClient.connect(variables.MONGODB_URL)
  const documents = client.db('test').collection('documents')
  await documents.insertOne({ kept: true }, { writeConcern: { w: 'majority' } })
  process.kill(first.pid, 'SIGKILL')
  await first.exited

  const second = await project.start()
  await second.until(/^ready /m)
  expect(before.filter(isRunning)).toEqual([])
  expect(await variablesOfServices()).toEqual(variables)
  expect(await documents.findOne({})).toMatchObject({ kept: true })
  await client.close()
  const after = project.processes()
  expect(after).toHaveLength(3)
  second.kill('SIGINT')
  expect(await exitCode(second)).toBe(0)
  expect(after.filter(isRunning)).toEqual([])
})

test('npm start works after kill -9 of every process', async () => {
  const first = await project.start()
  await first.until(/^ready /m)
  for (const { pid } of [first, ...project.processes()]) process.kill(pid, 'SIGKILL')
  await first.exited
  const second = await project.start()
  await second.until(/^ready /m)
  second.kill('SIGINT')
  expect(await exitCode(second)).toBe(0)
})

test('a second start with the same data directory fails with one sentence', async () => {
  const first = await project.start()
  await eventually(() => expect(project.processes().length).toBeGreaterThan(0))
  const second = await project.start()
  expect(await exitCode(second)).toBe(1)
  expect(second.output()).toBe(
    `Another npm start (process ${first.pid}) is using ${project.dataDir}: stop it with Ctrl-C, or set another DATA_DIR and HTTP_PORT.\n`,
  )
  first.kill('SIGINT')
  expect(await exitCode(first)).toBe(0)
})

test('when MongoDB ends, npm start stops everything with exit code 1 and names the log of MongoDB', async () => {
  const start = await project.start()
  await start.until(/^ready /m)
  const processes = project.processes()
  process.kill(project.services().processes?.mongodb?.pid ?? 0, 'SIGKILL')
  expect(await exitCode(start)).toBe(1)
  expect(start.output()).toContain(
    `MongoDB has ended unexpectedly: read ${join(project.dataDir, 'mongodb.log')}. Stopping everything …\n`,
  )
  expect(processes.filter(isRunning)).toEqual([])
})

test('SIGTERM ends everything with exit code 0', async () => {
  const start = await project.start()
  await start.until(/^ready /m)
  start.kill('SIGTERM')
  expect(await exitCode(start)).toBe(0)
})

test('npm start reports an HTTP port that is in use, and the fix, in one sentence', async () => {
  const other = createServer().listen(project.port, '127.0.0.1')
  const start = await project.start()
  expect(await exitCode(start)).toBe(1)
  expect(start.output()).toBe(
    `Port ${project.port} is already in use: stop the program that uses it, or set HTTP_PORT to a free port.\n`,
  )
  other.close()
})

test('a configuration error is printed without a stack trace, and every process is stopped', async () => {
  const start = await project.start({ environment: { FIXTURE_FAULT: 'CHUNK_SIZE must be a number.' } })
  expect(await exitCode(start)).toBe(1)
  expect(start.output().trim().split('\n').at(-1)).toBe('CHUNK_SIZE must be a number.')
  expect(start.output()).not.toContain('    at ')
  expect(project.services()).toEqual({})
})

test.each([
  { missing: 'Java', tools: ['python3', 'mvn'], only: { MONGODB_URL: 'mongodb://127.0.0.1:1' } },
  { missing: 'Maven', tools: ['java', 'python3'], only: { MONGODB_URL: 'mongodb://127.0.0.1:1' } },
  { missing: 'Python 3', tools: ['java', 'mvn'], only: { KAFKA_BROKERS: '127.0.0.1:1' } },
])('without $missing npm start prints one sentence with the tool to install', async ({ missing, tools, only }) => {
  const start = await project.start({
    environment: {
      ...only,
      PATH: pathWith(project.root, tools),
      JAVA_HOME: '',
      XDG_CACHE_HOME: join(project.root, 'cache'),
      AI_SYSTEM_URL: 'http://127.0.0.1:1',
    },
  })
  expect(await exitCode(start)).toBe(1)
  const lines = start.output().trim().split('\n')
  expect(lines.at(-1)).toMatch(
    new RegExp(
      `${missing}.* was found: install ${missing}, or start Docker, or |${missing}.* was not found: install ${missing}, or start Docker, or `,
    ),
  )
  expect(lines.filter((line) => !/^Downloading/.test(line))).toHaveLength(1)
})

test('without Java and Python npm start reports both', async () => {
  const start = await project.start({
    environment: {
      PATH: pathWith(project.root, []),
      JAVA_HOME: '',
      XDG_CACHE_HOME: join(project.root, 'cache'),
      AI_SYSTEM_URL: 'http://127.0.0.1:1',
    },
  })
  expect(await exitCode(start)).toBe(1)
  expect(start.output()).toMatch(/^Kafka needs Java 17 or newer, but no Java was found: install Java, /m)
  expect(start.output()).toMatch(/^Python 3 .* was not found: install Python 3, /m)
})

test('a failed download is reported in one sentence', async () => {
  const settings = join(project.root, 'pip.conf')
  writeFileSync(settings, '[global]\nno-index = true\n')
  const start = await project.start({
    environment: {
      KAFKA_BROKERS: '127.0.0.1:1',
      AI_SYSTEM_URL: 'http://127.0.0.1:1',
      PIP_CONFIG_FILE: settings,
      XDG_CACHE_HOME: join(project.root, 'cache'),
    },
  })
  expect(await exitCode(start)).toBe(1)
  expect(start.output().trim().split('\n').at(-1)).toMatch(
    /^pip could not download MongoDB \(ERROR: .*\): check the network, or start Docker, or /,
  )
})

test('two starts with different data directories and ports run at the same time', async () => {
  const other = await startProject()
  try {
    const starts = [await project.start(), await other.start()]
    for (const start of starts) await start.until(/^ready /m)
    expect(project.services().kafkaBrokers).not.toEqual(other.services().kafkaBrokers)
    for (const start of starts) start.kill('SIGINT')
    for (const start of starts) expect(await exitCode(start)).toBe(0)
  } finally {
    await other.remove()
  }
})
