import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import type { Fault } from '#infra/chaos/fault.ts'
import { expectSoundRun } from '#test/support/cluster/expect-sound-run.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

const second = 1_000

describe('a dispatcher that is suspended during a rebalance and then continues', () => {
  it('changes no outcome, and repeats deliveries only in the 11 s after it continues', async () => {
    const fault: Fault = {
      atMs: 5 * second,
      lastsMs: 45 * second,
      action: 'pause',
      target: { is: 'service', kind: 'dispatcher', index: 0 },
    }
    const { facts, applied } = await expectSoundRun({ cluster, seed: 7, faults: [fault], loadMs: 60 * second })
    const resumedAt = applied[0]?.to ?? 0
    const lastSeconds = facts.log.filter(
      ({ event, appendedAt }) =>
        event.type === 'ChunkSent' && appendedAt > resumedAt - 8 * second && appendedAt < resumedAt,
    )
    // The other dispatcher has taken over the partitions of the suspended one.
    expect(new Set(lastSeconds.map(({ partition }) => partition)).size).toBeGreaterThan(6)
  })
})
