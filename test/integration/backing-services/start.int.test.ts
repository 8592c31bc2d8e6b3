import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isRunning, markOf, type ProcessMark } from '#infra/backing-services/process-mark.ts'
import { eventually } from '#test/support/eventually.ts'
import { pathWith, startProject } from '#test/support/system/start-process.ts'

let project: Awaited<ReturnType<typeof startProject>>

beforeEach(async () => {
  project = await startProject()
})
afterEach(() => project.remove())

const stillRunning = (marks: readonly ProcessMark[]) => marks.filter((mark) => isRunning(mark))

/** What the fixture's services were given. */
async function given(port: number) {
  const response = await fetch(`http://127.0.0.1:${port}`)
  return (await response.json()) as Record<'KAFKA_BROKERS' | 'MONGODB_URL' | 'AI_SYSTEM_URL' | 'SECRETS_KEY', string>
}

test('Ctrl-C on npm start ends everything with exit code 0, however often it is pressed', async () => {
  const start = project.start({ command: ['npm', 'start'] })
  await start.until(/^ready /m)
  const children = project.children()
  expect(children).toHaveLength(3)
  start.signalGroup('SIGINT')
  start.signalGroup('SIGINT')
  expect(await start.exited, start.output()).toBe(0)
  expect(stillRunning(children)).toEqual([])
  expect(project.services.read()).toEqual({ processes: {} })
})

test('Ctrl-C during the start leaves no process behind', async () => {
  const start = project.start()
  await eventually(() => expect(project.children().length).toBeGreaterThan(0))
  const children = project.children()
  start.signalGroup('SIGINT')
  expect(await start.exited).toBe(0)
  expect(stillRunning([...children, ...project.children()])).toEqual([])
  expect(start.output()).not.toContain('ready')
})

test('after kill -9 the next start adopts what runs, and its data and key are the same', async () => {
  const first = project.start()
  await first.until(/^ready /m)
  const children = project.children()
  const before = await given(project.port)
  const client = await MongoClient.connect(before.MONGODB_URL)
  await client
    .db('test')
    .collection('facts')
    .insertOne({ kept: true }, { writeConcern: { w: 'majority' } })
  process.kill(first.pid(), 'SIGKILL')
  await first.exited
  expect(stillRunning(children)).toHaveLength(3)

  const second = project.start()
  await second.until(/^ready /m)
  expect(project.children()).toEqual(children)
  expect(await given(project.port)).toEqual(before)
  expect(await client.db('test').collection('facts').findOne({})).toMatchObject({ kept: true })
  await client.close()
  second.signalGroup('SIGINT')
  expect(await second.exited).toBe(0)
  expect(stillRunning(children)).toEqual([])
})

test('a child that was left running and does not answer is replaced', async () => {
  const first = project.start()
  await first.until(/^ready /m)
  const { 'ai-system': left } = project.services.read().processes
  process.kill(first.pid(), 'SIGKILL')
  await first.exited
  process.kill(left?.pid ?? 0, 'SIGSTOP')
  const second = project.start()
  await second.until(/does not answer; it is being replaced/)
  await second.until(/^ready /m)
  expect(project.services.read().processes['ai-system']?.pid).not.toBe(left?.pid)
  second.signalGroup('SIGINT')
  expect(await second.exited).toBe(0)
})

test('a second start on the same data directory is refused in one sentence', async () => {
  const first = project.start()
  await eventually(() => expect(project.children().length).toBeGreaterThan(0))
  const second = project.start()
  expect(await second.exited).toBe(1)
  expect(second.output().trim().split('\n')).toEqual([
    `A start (process ${first.pid()}) is already using ${project.dataDir}: stop it with Ctrl-C, or set another DATA_DIR and HTTP_PORT.`,
  ])
  first.signalGroup('SIGINT')
  expect(await first.exited).toBe(0)
})

test('what dies is started again on the same address, and a sentence says so', async () => {
  const start = project.start()
  await start.until(/^ready /m)
  const { mongodb } = project.services.read().processes
  const url = project.services.read().mongodbUrl
  process.kill(mongodb?.pid ?? 0, 'SIGKILL')
  await start.until(/MongoDB has stopped unexpectedly and is being started again/)
  await start.until(/MongoDB is running again/)
  const client = await MongoClient.connect(url ?? '')
  expect(await client.db('admin').command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
  await client.close()
  start.signalGroup('SIGTERM')
  expect(await start.exited).toBe(0)
})

test('a busy HTTP port is one sentence that names the way out', async () => {
  const other = createServer().listen(project.port, '127.0.0.1')
  const start = project.start()
  expect(await start.exited).toBe(1)
  expect(start.output()).toBe(
    `Port ${project.port} is already in use: stop the program that uses it, or set HTTP_PORT to a free port.\n`,
  )
  other.close()
})

test('a fault in the configuration is told without a stack trace, and nothing is left running', async () => {
  const start = project.start({ environment: { FIXTURE_FAULT: 'CHUNK_SIZE must be a number.' } })
  expect(await start.exited).toBe(1)
  expect(start.output().trim().split('\n').at(-1)).toBe('CHUNK_SIZE must be a number.')
  expect(start.output()).not.toContain('    at ')
  expect(project.services.read()).toEqual({ processes: {} })
})

test.each([
  { missing: 'Java', tools: ['python3', 'mvn'], only: { MONGODB_URL: 'mongodb://127.0.0.1:1' } },
  { missing: 'Maven', tools: ['java', 'python3'], only: { MONGODB_URL: 'mongodb://127.0.0.1:1' } },
  { missing: 'Python', tools: ['java', 'mvn'], only: { KAFKA_BROKERS: '127.0.0.1:1' } },
])('without $missing one sentence says what to install', async ({ missing, tools, only }) => {
  const start = project.start({
    environment: {
      ...only,
      PATH: pathWith(project.root, tools),
      JAVA_HOME: '',
      XDG_CACHE_HOME: join(project.root, 'cache'),
      AI_SYSTEM_URL: 'http://127.0.0.1:1',
    },
  })
  expect(await start.exited).toBe(1)
  const lines = start.output().trim().split('\n')
  expect(lines.at(-1)).toContain(missing)
  expect(lines.at(-1)).toMatch(/: install it|none was found: install one/)
  expect(lines.filter((line) => !/^Downloading/.test(line))).toHaveLength(1)
})

test('a failed download is one sentence, and nothing of it stays in the cache', async () => {
  const settings = join(project.root, 'pip.conf')
  writeFileSync(settings, '[global]\nno-index = true\n')
  const start = project.start({
    environment: {
      KAFKA_BROKERS: '127.0.0.1:1',
      AI_SYSTEM_URL: 'http://127.0.0.1:1',
      PIP_CONFIG_FILE: settings,
      XDG_CACHE_HOME: join(project.root, 'cache'),
    },
  })
  expect(await start.exited).toBe(1)
  expect(start.output().trim().split('\n').at(-1)).toMatch(
    /^MongoDB could not be downloaded with pip \(ERROR: .*check the network/,
  )
})

test('two starts with their own data directory and port run side by side', async () => {
  const other = await startProject()
  try {
    const starts = [project.start(), other.start()]
    for (const start of starts) await start.until(/^ready /m)
    expect(project.services.read().kafkaBrokers).not.toEqual(other.services.read().kafkaBrokers)
    for (const start of starts) start.signalGroup('SIGINT')
    for (const start of starts) expect(await start.exited).toBe(0)
  } finally {
    await other.remove()
  }
})

test('the recorded start time tells a process from a later one with its pid', () => {
  const mine = markOf(process.pid)
  expect(mine && isRunning(mine)).toBe(true)
  expect(isRunning({ pid: process.pid, startedAt: 'earlier' })).toBe(false)
})
