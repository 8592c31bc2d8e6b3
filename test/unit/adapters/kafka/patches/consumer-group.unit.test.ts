import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsumerGroup, patchConsumerGroup } from '#shared/adapters/kafka/patches/consumer-group.ts'
import { eventually } from '#test/support/eventually.ts'

const load = createRequire(import.meta.url)
const KafkaConsumerGroup: new (options: object) => ConsumerGroup & { memberId: string | null } = load(
  'kafkajs/src/consumer/consumerGroup',
)
const errors: {
  KafkaJSConnectionError: new (message: string) => Error
  KafkaJSProtocolError: new (error: { message: string; type: string }) => Error
} = load('kafkajs/src/errors')

const ignore = () => {}
const log = { namespace: () => log, debug: ignore, info: ignore, warn: ignore, error: ignore }
const refused = new errors.KafkaJSConnectionError('connect ECONNREFUSED')
const movedLeader = new errors.KafkaJSProtocolError({ message: 'moved', type: 'NOT_LEADER_FOR_PARTITION' })
const movedCoordinator = new errors.KafkaJSProtocolError({ message: 'moved', type: 'NOT_COORDINATOR_FOR_GROUP' })
const removedMember = new errors.KafkaJSProtocolError({ message: 'removed', type: 'UNKNOWN_MEMBER_ID' })

/** A member whose first coordinator fails with `error`. The cluster then finds another coordinator. */
function memberOf(error: Error) {
  const requests: string[] = []
  const coordinatorOf = (name: string, fail?: Error) => {
    const request = (what: string) => async () => {
      requests.push(`${what} ${name}`)
      if (fail !== undefined) throw fail
    }
    return { heartbeat: request('heartbeat'), leaveGroup: request('leave'), joinGroup: request('join') }
  }
  const next = coordinatorOf('next')
  const cluster = {
    refreshMetadata: async () => void requests.push('refresh'),
    findGroupCoordinator: async () => {
      requests.push('find')
      return next
    },
  }
  const group = new KafkaConsumerGroup({
    ...{ logger: log, cluster, groupId: 'g', topics: [], assigners: [] },
    ...{ retry: { retries: 0 }, instrumentationEmitter: { emit: ignore } },
  })
  group.memberId = 'm'
  group.coordinator = coordinatorOf('first', error)
  return { group, requests }
}

const fetchFailed = async (error: Error) => {
  const { group, requests } = memberOf(error)
  const outcome = await group.recoverFromFetch(error).then(
    () => 'recovered',
    () => 'failed',
  )
  return { outcome, requests }
}

const heartbeat = async (error: Error) => {
  const { group, requests } = memberOf(error)
  const beat = () => group.heartbeat({ interval: -1_000 })
  const outcome = await beat().then(
    () => 'continued',
    () => 'failed',
  )
  return { outcome, requests, beat }
}

describe('stock kafkajs', () => {
  it('fails when a broker cannot be reached', async () => {
    expect(await fetchFailed(refused)).toMatchObject({ outcome: 'failed' })
    expect(await heartbeat(refused)).toMatchObject({ outcome: 'failed', requests: ['heartbeat first'] })
  })

  it('joins again when the leader of a partition has moved', async () => {
    expect((await fetchFailed(movedLeader)).requests).toContain('join next')
  })

  it('stays in the group when its coordinator has moved', async () => {
    const { group, requests } = memberOf(movedCoordinator)
    await expect(group.leave()).rejects.toThrow('moved')
    expect(requests).toEqual(['leave first'])
  })
})

describe('a patched member', () => {
  beforeAll(() => {
    patchConsumerGroup()
    patchConsumerGroup() // idempotent
  })

  it.each([refused, movedLeader])('refreshes the metadata when a fetch fails: $message', async (error) => {
    expect(await fetchFailed(error)).toEqual({ outcome: 'recovered', requests: ['refresh'] })
  })

  it('fails for other errors of a fetch', async () => {
    expect(await fetchFailed(new TypeError('other'))).toMatchObject({ outcome: 'failed' })
  })

  it.each([refused, movedCoordinator])('sends heartbeats to the new coordinator: $message', async (error) => {
    const { outcome, requests, beat } = await heartbeat(error)
    expect(outcome).toBe('continued')
    await eventually(async () => {
      await beat()
      expect(requests).toEqual(['heartbeat first', 'find', 'heartbeat next'])
    })
  })

  it('fails when the coordinator has removed the member', async () => {
    expect(await heartbeat(removedMember)).toMatchObject({ outcome: 'failed', requests: ['heartbeat first'] })
  })

  it('leaves the group at the new coordinator', async () => {
    const { group, requests } = memberOf(movedCoordinator)
    await group.leave()
    expect(requests).toEqual(['leave first', 'find', 'leave next'])
  })

  it('leaves the group when a join fails', async () => {
    const { group, requests } = memberOf(refused)
    await expect(group.joinAndSync()).rejects.toThrow()
    expect(requests).toEqual(['find', 'join next', 'leave next'])
  })
})
