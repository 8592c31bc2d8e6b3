import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type TopicName, topics } from '#schemas/events/catalogue.ts'
import { createEventLogProbe } from '#shared/adapters/kafka/admin/probe.ts'
import { createReader } from '#shared/adapters/kafka/consume/reader.ts'
import { createSubscription } from '#shared/adapters/kafka/consume/subscription.ts'
import { createLane, type Lane } from '#shared/adapters/kafka/produce/lane.ts'
import type { AppendOutcome, LogRecord, NewRecord } from '#shared/ports/event-log.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { startOwnKafka } from '#test/support/backing/backing-services.ts'
import { createOwnTopics, type OwnTopics } from '#test/support/backing/own-topics.ts'
import { eventually } from '#test/support/eventually.ts'
import { type FollowedConnections, followConnections } from '#test/support/kafka/followed-connections.ts'
import { silentLog } from '#test/support/silent-log.ts'

const imports: TopicName = 'contact-import.imports'

const recordsOf = (key: string, count = 3): NewRecord[] =>
  Array.from({ length: count }, (_, n) => ({
    topic: imports,
    key,
    headers: { ce_id: `${key}/${n}` },
    value: Buffer.from('{}'),
  }))

async function refused(brokers: readonly string[]): Promise<void> {
  const [host = '', port = ''] = brokers[0]?.split(':') ?? []
  await eventually(async () => {
    const socket = connect(Number(port), host)
    const accepted = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    expect(accepted).toBe(false)
  })
}

describe('an outage of the broker', () => {
  let kafka: Awaited<ReturnType<typeof startOwnKafka>>
  let own: OwnTopics
  let lane: Lane
  let connections: FollowedConnections

  beforeAll(async () => {
    kafka = await startOwnKafka()
  })
  afterAll(() => kafka.stop())

  beforeEach(async () => {
    connections = followConnections()
    own = await createOwnTopics(kafka.brokers)
    lane = createLane({ kafka: own.kafka(), topic: topics.imports, topicPrefix: own.topicPrefix })
    await lane.start()
  })
  afterEach(async () => {
    connections.end()
    // A failed test may leave the broker stopped.
    if (!(await answers())) await kafka.restart()
    await lane.stop()
    await own.remove()
  })

  async function answers(): Promise<boolean> {
    const probe = createEventLogProbe({ kafka: own.kafka() })
    try {
      return await probe.probe(2_000)
    } finally {
      await probe.stop()
    }
  }

  const startReader = async (options = {}) => {
    const { topicPrefix } = own
    const groupId = `${topicPrefix}reader`
    const reader = createReader({ kafka: own.kafka(), groupId, topics: [imports], topicPrefix, ...options })
    await reader.start()
    return reader
  }

  async function wholeLog(): Promise<LogRecord[]> {
    const reader = await startReader()
    try {
      const partitions = Array.from({ length: topics.imports.partitions }, (_, partition) => partition)
      const readAll = () => Promise.all(partitions.map((p) => Array.fromAsync(reader.read(imports, p, 0))))
      return (await eventually(readAll)).flat() // a started broker leads its partitions only after a delay
    } finally {
      await reader.stop()
    }
  }

  /** Appends continuously from several callers until `stop`, and records the outcome of each append. */
  function appendContinuously(callers: number) {
    const answers = new Map<string, AppendOutcome['is']>()
    let going = true
    const work = Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; going; n += 1) {
        const key = `${caller}-${n}`
        answers.set(key, (await lane.append(recordsOf(key))).is)
      }
    })
    const stop = async () => {
      going = false
      await Promise.all(work)
      return answers
    }
    const countOf = (is: AppendOutcome['is']) => [...answers.values()].filter((answer) => answer === is).length
    return { stop, countOf }
  }

  /** Checks the log: appended records are stored once, overloaded ones never, ambiguous ones at most once. */
  async function expectCorrectOutcomes(answers: ReadonlyMap<string, AppendOutcome['is']>) {
    const log = await wholeLog()
    const times = new Map<string, number>()
    for (const { headers } of log) times.set(headers.ce_id ?? '', (times.get(headers.ce_id ?? '') ?? 0) + 1)
    for (const [key, answer] of answers) {
      const found = recordsOf(key).map(({ headers }) => times.get(headers.ce_id ?? '') ?? 0)
      if (answer === 'appended') expect([key, found]).toEqual([key, [1, 1, 1]])
      else if (answer === 'overloaded') expect([key, found]).toEqual([key, [0, 0, 0]])
      else
        expect([
          key,
          [
            [0, 0, 0],
            [1, 1, 1],
          ].some((all) => all.join() === found.join()),
        ]).toEqual([key, true])
    }
  }

  it('appends are overloaded after a kill of the broker and succeed after its restart; every outcome is correct', async () => {
    const appending = appendContinuously(20)
    await eventually(() => expect(appending.countOf('appended')).toBeGreaterThan(200))
    kafka.kill()
    await eventually(() => expect(appending.countOf('overloaded')).toBeGreaterThanOrEqual(20))
    const began = performance.now()
    expect((await lane.append(recordsOf('while-down'))).is).toBe('overloaded')
    expect(performance.now() - began).toBeLessThan(10_000)
    await kafka.restart()
    const before = appending.countOf('appended')
    await eventually(() => expect(appending.countOf('appended')).toBeGreaterThan(before + 200))
    const answers = await appending.stop()
    expect(await lane.append(recordsOf('afterwards'))).toMatchObject({ is: 'appended' })
    await expectCorrectOutcomes(answers.set('while-down', 'overloaded').set('afterwards', 'appended'))
  })

  it('while a broker hangs for longer than the send timeout, every outcome is correct', async () => {
    const appending = appendContinuously(10)
    await eventually(() => expect(appending.countOf('appended')).toBeGreaterThan(100))
    await kafka.pause()
    try {
      await eventually(() => expect(appending.countOf('ambiguous')).toBeGreaterThan(0))
      await eventually(() => expect(appending.countOf('overloaded')).toBeGreaterThan(0))
    } finally {
      kafka.resume()
    }
    const before = appending.countOf('appended')
    await eventually(() => expect(appending.countOf('appended')).toBeGreaterThan(before + 100))
    await expectCorrectOutcomes(await appending.stop())
  })

  it('after a broker was killed while no send was in flight, the next append is overloaded and not stored', async () => {
    expect(await lane.append(recordsOf('before'))).toMatchObject({ is: 'appended' })
    kafka.kill()
    await connections.closed()
    await refused(kafka.brokers) // an ending broker may still accept new connections
    expect(await lane.append(recordsOf('first'))).toEqual({ is: 'overloaded' })
    const urgent = lane.append(recordsOf('urgent'), { urgent: true })
    await kafka.restart()
    expect(await urgent).toMatchObject({ is: 'appended' })
    await expectCorrectOutcomes(
      new Map([
        ['before', 'appended'],
        ['first', 'overloaded'],
        ['urgent', 'appended'],
      ]),
    )
  })

  it('a reader throws DependencyLost while the broker is down, and reads again afterwards', async () => {
    await lane.append(recordsOf('k'))
    const partition = lane.partitionFor('k')
    const reader = await startReader({ idleTimeoutMs: 5_000 })
    const read = () => Array.fromAsync(reader.read(imports, partition, 0))
    expect(await read()).toHaveLength(3)
    kafka.kill()
    await expect(read()).rejects.toThrow(DependencyLost)
    await kafka.restart()
    await eventually(async () => expect(await read()).toHaveLength(3))
    await reader.stop()
  })

  it('a probe returns false within its time limit', async () => {
    const probe = createEventLogProbe({ kafka: own.kafka() })
    expect(await probe.probe(5_000)).toBe(true)
    await kafka.pause()
    const began = performance.now()
    expect(await probe.probe(500)).toBe(false)
    expect(performance.now() - began).toBeLessThan(10_000)
    kafka.resume()
    await eventually(async () => expect(await probe.probe(1_000)).toBe(true))
    await probe.stop()
  })

  describe('for a subscription', () => {
    async function subscribe() {
      const { topicPrefix } = own
      const groupId = `${topicPrefix}group`
      const subscription = createSubscription({
        kafka: own.kafka(),
        groupId,
        topics: [imports],
        topicPrefix,
        log: silentLog,
      })
      const seen = { story: [] as string[], offsets: new Set<string>() }
      await subscription.start({
        assigned(partitions, memberKept) {
          seen.story.push(memberKept ? 'assigned again' : 'assigned')
          for (const partition of partitions) subscription.open({ ...partition, offset: 0 })
        },
        rebalancing: () => void seen.story.push('rebalancing'),
        records(records) {
          for (const { partition, offset } of records) seen.offsets.add(`${partition}/${offset}`)
        },
      })
      return { subscription, seen }
    }

    const commitOne = (subscription: Awaited<ReturnType<typeof subscribe>>['subscription']) =>
      subscription.commit([{ topic: imports, partition: 0, offset: 0 }])

    it('a commit is rejected while the broker is down, and the member continues afterwards', async () => {
      const { subscription, seen } = await subscribe()
      await lane.append(recordsOf('a'))
      await eventually(() => expect(seen.offsets.size).toBe(3))
      await commitOne(subscription)
      kafka.kill()
      await expect(commitOne(subscription)).rejects.toThrow()
      await eventually(() => expect(subscription.isCurrentMember()).toBe(false))
      await kafka.restart()
      await eventually(() => expect(subscription.isCurrentMember()).toBe(true), { withinMs: 60_000 })
      await eventually(async () => expect(await lane.append(recordsOf('b'))).toMatchObject({ is: 'appended' }))
      await eventually(() => expect(seen.offsets.size).toBe(6))
      await eventually(() => commitOne(subscription))
      await subscription.stop()
    })

    it('a member is not current while the broker hangs for longer than the session, and continues afterwards', async () => {
      const { subscription, seen } = await subscribe()
      await lane.append(recordsOf('a'))
      await eventually(() => expect(seen.offsets.size).toBe(3))
      await kafka.pause()
      try {
        await eventually(() => expect(subscription.isCurrentMember()).toBe(false))
      } finally {
        kafka.resume()
      }
      await eventually(() => expect(subscription.isCurrentMember()).toBe(true), { withinMs: 60_000 })
      expect(seen.story.at(-1)).toMatch('assigned')
      await eventually(async () => expect(await lane.append(recordsOf('b'))).toMatchObject({ is: 'appended' }))
      await eventually(() => expect(seen.offsets.size).toBe(6))
      await eventually(() => commitOne(subscription))
      await subscription.stop()
    })
  })
})
