import type { Log } from '#shared/runtime/log.ts'
import { createWorkerPool } from '#shared/runtime/worker-pool.ts'
import { unpackRecords } from './packed-records.ts'
import type { PlanAnswer, PlanTask } from './plan-worker.ts'
import type { PlanWorkers } from './planner.ts'

/** Bodies that may wait for a worker: some hundred milliseconds of work each at most. */
const maxQueue = 64

type Options = { readonly threads: number; readonly log: Log }

export function createPlanWorkers({ threads, log }: Options): PlanWorkers & { close(): Promise<void> } {
  const pool = createWorkerPool<PlanTask, PlanAnswer>({
    file: new URL('plan-worker.ts', import.meta.url),
    threads,
    maxQueue,
    log,
  })
  return {
    async plan(request) {
      const outcome = await pool.run({ kind: 'plan', request })
      if (outcome.is === 'overloaded') return outcome
      const answer = outcome.value
      if (answer.is === 'dry_run') throw new Error('A plan was asked for, and a dry run came back.')
      return answer.is === 'planned' ? { ...answer, records: unpackRecords(answer.records) } : answer
    },
    async dryRun(request) {
      const outcome = await pool.run({ kind: 'dry_run', request })
      if (outcome.is === 'overloaded') return outcome
      if (outcome.value.is === 'planned') throw new Error('A dry run was asked for, and a plan came back.')
      return outcome.value
    },
    close: () => pool.close(),
  }
}
