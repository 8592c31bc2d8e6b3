import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { patchRunner } from '#shared/adapters/kafka/patches/runner.ts'
import { eventually } from '#test/support/eventually.ts'

type Batches = readonly unknown[]
type Runner = {
  fetch(nodeId: string): Promise<Batches>
  start(): Promise<void>
  stop(): Promise<void>
  commitOffsets(offsets: unknown): Promise<void>
}

const load = createRequire(import.meta.url)
const KafkaRunner: new (options: object) => Runner = load('kafkajs/src/consumer/runner')

const ignore = () => {}
const log = { namespace: () => log, debug: ignore, info: ignore, warn: ignore, error: ignore }
/** Far more than the fetches of a runner that stops. The endless loop is ended at this count. */
const loopAt = 1_000

function createGroup() {
  const pending = new Map<string, (batches: Batches) => void>()
  const group = {
    brokers: ['1', '2'],
    commits: 0,
    failCommits: 0,
    pending,
    getNodeIds: () => group.brokers,
    connect: async () => {},
    joinAndSync: async () => {},
    heartbeat: async () => {},
    leave: async () => {},
    fetch: (nodeId: string) => new Promise<Batches>((resolve) => pending.set(nodeId, resolve)),
    async commitOffsets() {
      group.commits += 1
      if (group.commits <= group.failCommits) throw new Error('Closed connection')
    },
  }
  return group
}

function createRunner() {
  const group = createGroup()
  const runner = new KafkaRunner({
    logger: log,
    consumerGroup: group,
    instrumentationEmitter: { emit: ignore },
    concurrency: 1,
    eachBatch: async () => {},
    autoCommit: false,
    onCrash: ignore,
    retry: { retries: 3, initialRetryTime: 1 },
  })
  const { fetch } = runner
  const fetches = { count: 0 }
  runner.fetch = async (nodeId) => {
    fetches.count += 1
    if (fetches.count > loopAt) throw new Error('This fetch ends the endless loop.')
    return fetch.call(runner, nodeId)
  }
  return { runner, group, fetches }
}

/** Broker 2 leaves the cluster, and the runner is stopped while it waits for the last fetch from broker 1. */
async function stopDuringChangeOfBrokers() {
  const { runner, group, fetches } = createRunner()
  await runner.start()
  await eventually(() => expect(group.pending.size).toBe(2))
  group.brokers = ['1']
  group.pending.get('2')?.([])
  await new Promise((resolve) => setImmediate(resolve)) // the fetch manager now stops the other fetcher
  const stopped = runner.stop()
  group.pending.get('1')?.([])
  await stopped
  return fetches.count
}

async function commitWithOneFailure() {
  const { runner, group } = createRunner()
  await runner.start()
  group.failCommits = 1
  const outcome = await runner.commitOffsets({}).then(
    () => 'committed',
    () => 'rejected',
  )
  const stopped = runner.stop()
  for (const answer of group.pending.values()) answer([])
  await stopped
  return { outcome, commits: group.commits, runner }
}

describe('stock kafkajs', () => {
  it('fetches endlessly when a runner is stopped during a change of the brokers', async () => {
    expect(await stopDuringChangeOfBrokers()).toBeGreaterThan(loopAt)
  })

  it('repeats a failed commit', async () => {
    expect(await commitWithOneFailure()).toMatchObject({ outcome: 'committed', commits: 2 })
  })

  it('drops a commit without an error after the runner has stopped', async () => {
    const { runner } = await commitWithOneFailure()
    expect(await runner.commitOffsets({})).toBeUndefined()
  })
})

describe('a patched runner', () => {
  beforeAll(() => {
    patchRunner()
    patchRunner() // idempotent
  })

  it('stops its fetchers when it is stopped during a change of the brokers', async () => {
    expect(await stopDuringChangeOfBrokers()).toBeLessThan(10)
  })

  it('sends a commit once', async () => {
    expect(await commitWithOneFailure()).toMatchObject({ outcome: 'rejected', commits: 1 })
  })

  it('rejects a commit after it has stopped', async () => {
    const { runner } = await commitWithOneFailure()
    await expect(runner.commitOffsets({})).rejects.toThrow('The consumer has stopped.')
  })
})
