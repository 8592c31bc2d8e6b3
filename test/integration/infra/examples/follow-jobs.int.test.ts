import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it } from 'vitest'
import { type Child, startChild } from '#infra/backing-services/child.ts'
import { topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { createLane } from '#shared/adapters/kafka/produce/lane.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'
import { pythonPackages } from '#test/support/system/python.ts'

const examples = join(repositoryRoot, 'infra', 'examples')

function outcome(type: 'ImportCompleted' | 'ImportFailed', jobId: string): EventRecord {
  const time = '2026-01-31T09:30:04.250Z'
  const counts = { total_contacts: 2, valid_contacts: 2, invalid_contacts: 0, sent_contacts: 1, failed_contacts: 1 }
  const chunks = { chunks_total: 2, chunks_completed: 1, chunks_failed: 1 }
  const ids = { job_id: jobId, client_id: 'client', correlation_id: jobId }
  const times = { created_at: '2026-01-31T09:30:00.000Z', completed_at: time }
  const data = { ...ids, ...counts, ...chunks, ...times, error_message: '1 of 2 chunks failed' }
  return toRecord({ type, data }, { source: eventSources.projector, time })
}

async function createJobsTopic(finished: (end: () => Promise<void>) => void) {
  const own = await createOwnTopics(inject('kafkaBrokers'))
  const lane = createLane({ kafka: own.kafka(), topic: topics.jobs, topicPrefix: own.topicPrefix })
  await lane.start()
  finished(async () => {
    await lane.stop()
    await own.remove()
  })
  async function append(...records: readonly EventRecord[]) {
    for (const record of records) expect(await lane.append([record])).toMatchObject({ is: 'appended' })
  }
  return {
    own,
    append,
    /** Appends `count` outcomes and then the first three again. Returns the ids. */
    async appendOutcomes(count: number): Promise<readonly string[]> {
      const records = Array.from({ length: count }, (_, i) =>
        outcome(i % 3 === 0 ? 'ImportFailed' : 'ImportCompleted', randomUUID()),
      )
      await append(...records, ...records.slice(0, 3))
      return records.map(({ headers }) => headers.ce_id ?? '')
    },
  }
}

type Example = { readonly name: string; command(): Promise<readonly string[]>; environment(): Promise<object> }

const examplePrograms: readonly Example[] = [
  {
    name: 'TypeScript',
    command: async () => [process.execPath, join(examples, 'typescript', 'follow-jobs.ts')],
    environment: async () => ({ KAFKAJS_NO_PARTITIONER_WARNING: '1' }),
  },
  {
    name: 'Python',
    command: async () => ['python3', join(examples, 'python', 'follow_jobs.py')],
    environment: async () => ({ PYTHONPATH: await pythonPackages(join(examples, 'python', 'requirements.txt')) }),
  },
]

function queryFile<T>(file: string, ask: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file, { timeout: 5_000 })
  try {
    return ask(database)
  } finally {
    database.close()
  }
}

const readIds = (database: DatabaseSync): readonly string[] =>
  database
    .prepare('SELECT ce_id FROM outcomes')
    .all()
    .map((row) => String(row.ce_id))

async function install(example: Example, own: OwnTopics, finished: (end: () => Promise<void>) => void) {
  const folder = mkdtempSync(join(tmpdir(), 'contact-import-example-'))
  const file = join(folder, 'outcomes.sqlite')
  const [command = '', ...args] = await example.command()
  const env = {
    ...(await example.environment()),
    KAFKA_BROKERS: inject('kafkaBrokers').join(','),
    TOPIC: own.nameOf(topics.jobs.name),
    GROUP_ID: `${own.topicPrefix}${randomUUID()}`,
    DATABASE: file,
  }
  const children: Child[] = []
  const output = () => children.map((child) => child.output()).join('')

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    const child = children.at(-1)
    child?.kill(signal)
    return (await child?.exited)?.code ?? null
  }

  finished(async () => {
    await end('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  return {
    start: async () => void children.push(await startChild({ command, args, cwd: folder, env })),
    end,
    output,
    storedIds: () => queryFile(file, readIds),
    openReadTransaction() {
      const database = new DatabaseSync(file)
      database.exec('BEGIN')
      readIds(database)
      return { end: () => database.close() }
    },
    deleteOutcome: (id: string) =>
      queryFile(file, (database) => database.prepare('DELETE FROM outcomes WHERE ce_id = ?').run(id)),
    printedIds: () =>
      output()
        .split('\n')
        .flatMap((line): string[] => (line.startsWith('{"id"') ? [JSON.parse(line).id] : [])),
  }
}

/** The group reassigns the partitions of a killed member only after its session timeout. */
const afterSessionTimeout = { withinMs: 60_000 }

describe.concurrent.each(examplePrograms)('the example in $name', (example) => {
  it('processes each outcome once and continues after a kill', async ({ expect, onTestFinished }) => {
    const { own, append, appendOutcomes } = await createJobsTopic(onTestFinished)
    const reader = await install(example, own, onTestFinished)
    const before = await appendOutcomes(20)
    await reader.start()
    await eventually(() => expect(reader.storedIds(), reader.output()).toEqual(expect.arrayContaining([...before])))
    await reader.end('SIGKILL')
    const earlier = reader.storedIds()
    const [deleted = ''] = before
    reader.deleteOutcome(deleted)

    const after = await appendOutcomes(20)
    const foreign = outcome('ImportCompleted', randomUUID())
    const later = { ce_dataschema: 'urn:contact-import:events:ImportCompleted:2' }
    await append({ ...foreign, headers: { ...foreign.headers, ...later } })
    const last = await appendOutcomes(1)
    await reader.start()
    const expected = [...earlier.filter((id) => id !== deleted), ...after, ...last].toSorted()
    await eventually(
      () => expect(reader.storedIds().toSorted(), reader.output()).toEqual(expected),
      afterSessionTimeout,
    )
    expect(reader.printedIds()).toHaveLength(new Set(reader.printedIds()).size)
    expect(await reader.end('SIGTERM'), reader.output()).toBe(0)
    expect(reader.storedIds().toSorted()).toEqual(expected)
  })
  it('continues while another process reads its file', async ({ expect, onTestFinished }) => {
    const { own, appendOutcomes } = await createJobsTopic(onTestFinished)
    const reader = await install(example, own, onTestFinished)
    await reader.start()
    const before = await appendOutcomes(1)
    await eventually(() => expect(reader.storedIds(), reader.output()).toEqual(before), afterSessionTimeout)
    const transaction = reader.openReadTransaction()
    const all = [...before, ...(await appendOutcomes(20))].toSorted()
    await eventually(() => expect(reader.storedIds().toSorted(), reader.output()).toEqual(all), afterSessionTimeout)
    await eventually(() => expect(reader.printedIds().toSorted()).toEqual(all))
    transaction.end()
    expect(await reader.end('SIGTERM'), reader.output()).toBe(0)
  })
})
