import { topics } from '#schemas/events/catalogue.ts'
import { fixedDelay, pauseFor, retry, tryAgain } from '#shared/runtime/retry.ts'
import type { OwnCluster } from '#test/support/cluster/own-cluster.ts'
import type { Fault, Target } from './fault.ts'
import type { Interval } from './invariants/facts.ts'
import type { Proxies } from './proxies.ts'
import { rollBack } from './roll-back.ts'
import type { Service } from './service-group.ts'

export type Scene = {
  readonly cluster: OwnCluster
  readonly services: readonly Service[]
  /** By the name of a service. Empty when the services connect directly. */
  readonly proxies: ReadonlyMap<string, Proxies>
  readonly zombieWindows: Interval[]
}

/** A call of the AI system ends within 10 s, and its outcome is appended within another second. */
const zombieWindowMs = 11_000

type Victim = {
  kill(): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  readonly proxies?: Proxies
}

/** Applies one fault and ends it. Resolves when the target runs again; the target may still have to catch up. */
export async function applyFault(fault: Fault, scene: Scene): Promise<void> {
  const { action, lastsMs, target } = fault
  const { mongodb } = scene.cluster
  if (action === 'step_down') return stepDown(target, scene.cluster)
  if (action === 'roll_back') return rollBack(mongodb, { old: await currentIndex(target, scene.cluster), lastsMs })
  const victim = await victimOf(target, scene)
  if (action === 'kill' || action === 'stop') {
    await victim[action]()
    await pauseFor(lastsMs)
    return victim.start()
  }
  if (action === 'pause') {
    await victim.pause()
    await pauseFor(lastsMs)
    await victim.resume()
    const now = Date.now()
    const isDispatcher = target.is === 'service' && target.kind === 'dispatcher'
    if (isDispatcher) scene.zombieWindows.push({ from: now, to: now + zombieWindowMs })
    return
  }
  if (victim.proxies === undefined) throw new Error(`The run has no proxies, so it cannot ${action} connections.`)
  victim.proxies[action]()
  await pauseFor(lastsMs)
  victim.proxies.heal()
}

async function victimOf(target: Target, { cluster, services, proxies }: Scene): Promise<Victim> {
  if (target.is === 'service') {
    const service = services.filter(({ kind }) => kind === target.kind)[target.index]
    if (service === undefined) throw new Error(`The run has no ${target.kind} ${target.index}.`)
    const ofService = proxies.get(service.name)
    return {
      ...service,
      pause: async () => service.pause(),
      resume: async () => service.resume(),
      ...(ofService && { proxies: ofService }),
    }
  }
  const group = target.is === 'broker' ? cluster.kafka : cluster.mongodb
  const index = typeof target.which === 'number' ? target.which : await currentIndex(target, cluster)
  return {
    kill: () => group.kill(index),
    stop: () => group.stop(index),
    start: () => group.start(index),
    pause: () => group.pause(index),
    resume: () => group.resume(index),
  }
}

/** The index of the current leader or primary. Waits for an election in progress. */
async function currentIndex({ is }: Target, { kafka, mongodb, testEnvironment }: OwnCluster): Promise<number> {
  const find = async () => {
    if (is === 'member') return mongodb.primary()
    const [leader = -1] = await kafka.leaders(testEnvironment.topics.nameOf(topics.imports.name))
    return leader === -1 ? tryAgain : leader
  }
  const found = await retry(find, { delays: fixedDelay(200, 60_000), onError() {} })
  if (found.is === 'given_up') throw new Error(`The ${is} that leads was not found within 60 s.`)
  return found.value
}

async function stepDown(target: Target, cluster: OwnCluster): Promise<void> {
  const step = { replSetStepDown: 5, secondaryCatchUpPeriodSecs: 3 }
  // The command fails when no secondary has caught up, or an election is in progress. A later step-down may succeed.
  await cluster.mongodb.command(await currentIndex(target, cluster), step).catch(() => {})
}
