import { chunkIdempotencyKey } from '#services/dispatcher/attempt-chunk.ts'
import { chunkKey } from '#services/dispatcher/chunk.ts'
import type { AttemptResult } from '#shared/ports/ai-system.ts'
import type { ScenarioBroker } from './broker.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The time limit of the HTTP adapter. */
const callLimitMs = 10_000

export type Ending = 'sent' | 'rejected' | 'busy'
const statusOf = { sent: 200, rejected: 400, busy: 503 } as const

type Call = { readonly process: string; readonly key: string; readonly answer: (ending: Ending) => void }

/** The test answers the calls. A call without an answer succeeds at the time limit. */
export function createScenarioAiSystem(time: VirtualTime, broker: ScenarioBroker) {
  const calls: Call[] = []
  const chunkKeys = new Map<string, string>()
  const sends = new Map<string, number>()
  return {
    calls,
    sends,
    register(jobId: string, chunks: number): void {
      for (let chunkIndex = 0; chunkIndex < chunks; chunkIndex += 1)
        chunkKeys.set(chunkIdempotencyKey({ jobId, chunkIndex }), chunkKey(jobId, chunkIndex))
    },
    call(process: string, idempotencyKey: string): Promise<AttemptResult> {
      const key = chunkKeys.get(idempotencyKey) ?? idempotencyKey
      if (broker.isResolved(key)) broker.violations.push(`chunk ${key} is sent although the log holds its outcome`)
      if (calls.some((call) => call.key === key)) broker.violations.push(`two calls send chunk ${key} at the same time`)
      sends.set(key, (sends.get(key) ?? 0) + 1)
      return new Promise((resolve) => {
        const answer = (ending: Ending): void => {
          if (!calls.includes(call)) return
          calls.splice(calls.indexOf(call), 1)
          resolve({ is: 'answered', status: statusOf[ending], retryAfter: null, durationMs: 1 })
        }
        const call: Call = { process, key, answer }
        calls.push(call)
        time.after(callLimitMs, () => answer('sent'))
      })
    },
    drop(process: string): number {
      const dropped = calls.filter((call) => call.process === process)
      for (const call of dropped) calls.splice(calls.indexOf(call), 1)
      return dropped.length
    },
  }
}

export type ScenarioAiSystem = ReturnType<typeof createScenarioAiSystem>
