import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Cluster, startCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import type { Fault, Target } from '#infra/chaos/fault.ts'
import { expectSoundRun } from '#test/support/cluster/expect-sound-run.ts'

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster?.stop())

const second = 1_000
const primary: Target = { is: 'member', which: 'primary' }

/** Each election begins a new term. */
const electionTerm = async () => Number((await cluster.mongodb.command(0, { replSetGetStatus: 1 })).term)

describe('every import is delivered and counted, and GET never returns to an earlier state', () => {
  it('when the primary is killed', async () => {
    const fault: Fault = { atMs: 3 * second, lastsMs: 5 * second, action: 'kill', target: primary }
    await expectSoundRun({ cluster, seed: 4, faults: [fault], loadMs: 25 * second })
  })

  it('while the primary steps down every 8 s', async () => {
    const faults = [3, 11, 19, 27].map(
      (at): Fault => ({ atMs: at * second, lastsMs: 0, action: 'step_down', target: primary }),
    )
    const before = await electionTerm()
    await expectSoundRun({ cluster, seed: 5, faults, loadMs: 35 * second })
    expect(await electionTerm()).toBeGreaterThan(before + 1)
  })

  it('when a primary that was cut off rolls its writes back', async () => {
    // Slow answers, so that chunks end while the writes of the projector are not replicated.
    const script = { otherwise: { delay_ms: 2_500 } }
    const fault: Fault = { atMs: 6 * second, lastsMs: 8 * second, action: 'roll_back', target: primary }
    const { facts, applied } = await expectSoundRun({ cluster, seed: 6, script, faults: [fault], loadMs: 30 * second })
    const [cutOff] = applied
    const during = ({ answeredAt }: { readonly answeredAt: number }) =>
      answeredAt > (cutOff?.from ?? 0) && answeredAt < (cutOff?.from ?? 0) + 8 * second
    expect(facts.views.filter(during).length).toBeGreaterThan(10)
    expect(facts.calls.filter(({ sentAt }) => during({ answeredAt: sentAt + 2_500 })).length).toBeGreaterThan(0)
  })
})
