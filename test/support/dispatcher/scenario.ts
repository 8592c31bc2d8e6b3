import type { WindowBudget } from '#services/dispatcher/owned-partitions.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { plannedImport } from '../builders/planned-imports.ts'
import { createScenarioAiSystem, type Ending } from './ai-system.ts'
import { createScenarioAppends, createScenarioBroker, imports, scenarioPartitions } from './broker.ts'
import { type ScenarioProcess, startScenarioProcess } from './process.ts'
import { createVirtualTime, eventLoopIterations } from './virtual-time.ts'

type Planned = { readonly records: readonly EventRecord[]; appended: boolean; repeated: boolean }

const mostProcesses = 3
/** Small, so that a few waiting chunks fill a window and are planned again. */
const smallWindows: WindowBudget = { offsets: 6, bytes: { all: 1e6, least: 1e6, most: 1e6 } }
/** A repeat is appended only after the lease of its import (30 s) has ended. */
const afterLeaseMs = 31_000

const settle = () => eventLoopIterations(30)

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)]

function createWorld() {
  const time = createVirtualTime(Date.parse('2026-01-31T09:30:00.000Z'))
  const broker = createScenarioBroker(time)
  const appends = createScenarioAppends(broker.log)
  return { time, broker, appends, ai: createScenarioAiSystem(time, broker) }
}
type World = ReturnType<typeof createWorld>

/** An import is accepted by `plan`. Its records are appended later: by the original request, a repeat, or both. */
function importSteps({ time, broker, ai }: World) {
  const planned: Planned[] = []
  const append = async (one: Planned, records: readonly EventRecord[]): Promise<void> => {
    const partition = scenarioPartitions[planned.indexOf(one) % scenarioPartitions.length] ?? 0
    await broker.log.append(records.map((record) => ({ ...record, partition })))
    await settle()
  }
  const appendOriginal = async (index: number): Promise<void> => {
    const one = pick(planned, index)
    if (one === undefined || one.appended) return
    one.appended = true
    await append(one, one.records)
  }
  return {
    plan(chunks: number) {
      const { jobId, records } = plannedImport({ chunks, contactsPerChunk: 1, createdAt: time.now() })
      ai.register(jobId, chunks)
      planned.push({ records, appended: false, repeated: false })
    },
    appendOriginal,
    /** Another request takes over the idempotency key after the lease and appends all records again. */
    async appendRepeat(index: number) {
      const one = pick(planned, index)
      if (one === undefined) return
      if (!one.repeated) await time.advance(afterLeaseMs)
      one.repeated = true
      await append(
        one,
        one.records.map((record) => ({ ...record, headers: { ...record.headers, ce_repeat: 'true' } })),
      )
    },
    async appendAllOriginals() {
      for (const index of planned.keys()) await appendOriginal(index)
    },
  }
}

/** At least one process is always running. */
function processSteps(world: World) {
  const processes: ScenarioProcess[] = []
  let started = 0
  const start = async (): Promise<void> => {
    processes.push(startScenarioProcess({ name: `process-${started++}`, windows: smallWindows, ...world }))
    await settle()
  }
  const remove = async (index: number, end: (process: ScenarioProcess) => void): Promise<void> => {
    const process = pick(processes, index)
    if (process === undefined) return
    processes.splice(processes.indexOf(process), 1)
    end(process)
    await settle()
    if (processes.length === 0) await start()
  }
  return {
    async join() {
      if (processes.length < mostProcesses) await start()
    },
    stop: (index: number) => remove(index, (process) => void process.stop()),
    kill: (index: number) =>
      remove(index, (process) => {
        process.kill()
        world.ai.drop(process.name)
      }),
    async missGeneration(index: number) {
      pick(processes, index)?.missGeneration()
      await settle()
    },
    refuseCommit(index: number) {
      pick(processes, index)?.refuseNextCommit()
    },
    end() {
      for (const process of processes) process.kill()
    },
  }
}

/** Real dispatchers on an in-memory log with a fake AI system and a virtual clock. Each method is one external event. */
export async function startScenario() {
  const world = createWorld()
  const { time, broker, appends, ai } = world
  const { appendAllOriginals, ...steps } = importSteps(world)
  const processes = processSteps(world)
  await processes.join()

  const read = async (count: number): Promise<void> => {
    for (const partition of scenarioPartitions) broker.show(partition, count)
    await settle()
  }
  const advance = async (ms: number): Promise<void> => {
    await time.advance(ms)
    await settle()
  }

  return {
    ...steps,
    ...processes,
    read,
    advance,
    async answer(index: number, ending: Ending) {
      pick(ai.calls, index)?.answer(ending)
      await settle()
    },
    /** The broker is down for two seconds and starts without the last records of a partition. */
    async cut(index: number, count: number) {
      broker.cut(scenarioPartitions[index % scenarioPartitions.length] ?? 0, count)
      await advance(2_000)
    },
    failAppend: appends.fail,
    holdReplans: appends.hold,
    async releaseReplan() {
      appends.release()
      await settle()
    },
    async finish() {
      appends.reset()
      // Without new records, a cut partition keeps its committed offset beyond the end of the log.
      if (broker.wasCut()) for (const _ of scenarioPartitions) steps.plan(1)
      await appendAllOriginals()
      return await deliverAll(world, { read, advance })
    },
  }
}

type Steps = { readonly read: (count: number) => Promise<void>; readonly advance: (ms: number) => Promise<void> }

async function deliverAll({ broker, ai }: World, { read, advance }: Steps) {
  const ends = () => scenarioPartitions.map((partition) => broker.log.partition(imports, partition).length)
  const committed = () => scenarioPartitions.map((partition) => broker.committedOffset(partition))
  const unresolved = () => [...broker.chunkKeys()].filter((key) => !broker.isResolved(key))
  const isDone = () => `${committed()}` === `${ends()}` && unresolved().length === 0
  for (let round = 0; round < 200 && !isDone(); round += 1) {
    await read(100)
    for (const call of [...ai.calls]) call.answer('sent')
    await advance(5_000)
  }
  const mostSends = Math.max(0, ...ai.sends.values())
  return { violations: broker.violations, unresolved: unresolved(), committed: committed(), ends: ends(), mostSends }
}

export type Scenario = Awaited<ReturnType<typeof startScenario>>
