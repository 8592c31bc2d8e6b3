import type { WindowBudget } from '#services/dispatcher/dispatcher.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import { plannedImport } from '../builders/planned-imports.ts'
import { createScenarioAiSystem, type Ending } from './ai-system.ts'
import { createScenarioAppends, createScenarioBroker, imports, scenarioPartitions } from './broker.ts'
import { type ScenarioProcess, startScenarioProcess } from './process.ts'
import { createVirtualTime, eventLoopIterations } from './virtual-time.ts'

type Planned = { readonly records: readonly EventRecord[]; appended: boolean; repeated: boolean }

const mostProcesses = 3
/** Small, so that a few waiting chunks fill it and are planned again. */
const smallWindows: WindowBudget = { offsets: 6, bytes: { all: 1e6, least: 1e6, most: 1e6 } }
/** Lets all work go on that waits for nothing but the event loop. */
const settle = () => eventLoopIterations(30)
/** A repeat is appended only after the lease of its import, longer than this. */
const leaseMs = 31_000

const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)]

/**
 * Dispatchers on a memory log with a fake AI system and a virtual clock. Every event that a broker, a clock or a crash can
 * cause is a method; decisions, recovery and scheduling are the dispatcher's own.
 */
export async function startScenario() {
  const time = createVirtualTime(Date.parse('2026-01-31T09:30:00.000Z'))
  const broker = createScenarioBroker(time)
  const ai = createScenarioAiSystem(time, broker)
  const appends = createScenarioAppends(broker.log)
  const planned: Planned[] = []
  const processes: ScenarioProcess[] = []
  let started = 0

  const start = async (): Promise<void> => {
    const name = `process ${started++}`
    processes.push(startScenarioProcess({ name, time, broker, ai, appends, windows: smallWindows }))
    await settle()
  }
  const appendRecords = async (records: readonly EventRecord[], index: number): Promise<void> => {
    const partition = scenarioPartitions[index % scenarioPartitions.length] ?? 0
    await broker.log.append(records.map((record) => ({ ...record, partition })))
    await settle()
  }
  const remove = async (index: number): Promise<ScenarioProcess | undefined> => {
    const process = pick(processes, index)
    if (process !== undefined) processes.splice(processes.indexOf(process), 1)
    return process
  }
  await start()

  const steps = {
    async advance(ms: number) {
      await time.advance(ms)
      await settle()
    },
    /** Accepts an import. Its records are appended by `appendOriginal`. */
    plan(chunks: number) {
      const { jobId, records } = plannedImport({ chunks, contactsPerChunk: 1, createdAt: time.now() })
      ai.register(jobId, chunks)
      planned.push({ records, appended: false, repeated: false })
    },
    /** The append of the first holder of the idempotency key, possibly after the repeat. */
    async appendOriginal(index: number) {
      const one = pick(planned, index)
      if (one === undefined || one.appended) return
      one.appended = true
      await appendRecords(one.records, planned.indexOf(one))
    },
    /** A take-over finds nothing of the import in the log and appends all of it again. */
    async appendRepeat(index: number) {
      const one = pick(planned, index)
      if (one === undefined) return
      if (!one.repeated) await steps.advance(leaseMs)
      one.repeated = true
      const repeats = one.records.map((record) => ({ ...record, headers: { ...record.headers, ce_repeat: 'true' } }))
      await appendRecords(repeats, planned.indexOf(one))
    },
    async read(count: number) {
      for (const partition of scenarioPartitions) broker.show(partition, count)
      await settle()
    },
    async answer(index: number, ending: Ending) {
      pick(ai.calls, index)?.answer(ending)
      await settle()
    },
    async join() {
      if (processes.length < mostProcesses) await start()
    },
    /** Ends a process in order: its calls end first. */
    async stop(index: number) {
      void (await remove(index))?.stop()
      await settle()
      if (processes.length === 0) await start()
    },
    async kill(index: number) {
      const killed = await remove(index)
      killed?.kill()
      if (killed !== undefined) ai.drop(killed.name)
      await settle()
      if (processes.length === 0) await start()
    },
    async missGeneration(index: number) {
      pick(processes, index)?.missGeneration()
      await settle()
    },
    refuseCommit(index: number) {
      pick(processes, index)?.refuseNextCommit()
    },
    failAppend: appends.fail,
    holdReplans: appends.hold,
    async releaseReplan() {
      appends.release()
      await settle()
    },
    /** Ends all faults, lets all work finish and returns what happened. */
    async finish() {
      appends.reset()
      for (const [index] of planned.entries()) await steps.appendOriginal(index)
      const ends = () => scenarioPartitions.map((partition) => broker.log.partition(imports, partition).length)
      const committed = () => scenarioPartitions.map((partition) => broker.committedOffset(partition))
      for (let round = 0; round < 200 && `${committed()}` !== `${ends()}`; round += 1) {
        await steps.read(100)
        for (const call of [...ai.calls]) call.answer('sent')
        await steps.advance(5_000)
      }
      const unresolved = ai.keys().filter((key) => !broker.isResolved(key))
      const result = { violations: broker.violations, unresolved, committed: committed(), ends: ends() }
      return { ...result, mostSends: Math.max(0, ...ai.sends.values()) }
    },
    /** Kills all processes, so that nothing of them goes on. */
    end() {
      for (const process of processes) process.kill()
    },
  }
  return steps
}

export type Scenario = Awaited<ReturnType<typeof startScenario>>
