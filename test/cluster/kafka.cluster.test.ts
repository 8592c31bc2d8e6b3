import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import type { Fault } from '#infra/chaos/fault.ts'
import type { Answer } from '#infra/chaos/invariants/facts.ts'
import { expectSoundRun } from '#test/support/cluster/expect-sound-run.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

const second = 1_000

describe('every import is delivered and counted', () => {
  it('while the leader is killed every 10 s', async () => {
    const faults = [3, 13, 23].map(
      (at): Fault => ({
        atMs: at * second,
        lastsMs: 1 * second,
        action: 'kill',
        target: { is: 'broker', which: 'leader' },
      }),
    )
    await expectSoundRun({ cluster, seed: 1, faults, loadMs: 33 * second })
  })

  it('through a rolling restart of the brokers', async () => {
    const faults = [0, 1, 2].map(
      (which): Fault => ({
        atMs: (3 + which * 15) * second,
        lastsMs: 1 * second,
        action: 'stop',
        target: { is: 'broker', which },
      }),
    )
    await expectSoundRun({ cluster, seed: 2, faults, loadMs: 45 * second })
  })

  it('through 30 s with two of three brokers down, when no import is accepted', async () => {
    const lastsMs = 30 * second
    const faults = [0, 1].map(
      (which): Fault => ({ atMs: 5 * second, lastsMs, action: 'kill', target: { is: 'broker', which } }),
    )
    const { facts, applied } = await expectSoundRun({ cluster, seed: 3, faults, loadMs: 40 * second })
    const [downFrom, downTo] = [Math.max(...applied.map(({ from }) => from)) + second, applied[0]?.from ?? 0]
    const answers = facts.submissions
      .flatMap((submission) => untilAccepted(submission.answers))
      .filter(({ sentAt, answeredAt }) => sentAt > downFrom && answeredAt < downTo + lastsMs)
    // 409: the append of an earlier request with this key was ambiguous, so that its claim is kept.
    expect([409, 503]).toEqual(expect.arrayContaining([...new Set(answers.map(({ status }) => status))]))
    expect(answers.map(({ status }) => status)).toContain(503)
  })
})

/** Without the replays, which are answered from MongoDB, also while the log is down. */
function untilAccepted(answers: readonly Answer[]): readonly Answer[] {
  const first = answers.findIndex(({ status }) => status === 202)
  return first === -1 ? answers : answers.slice(0, first + 1)
}
