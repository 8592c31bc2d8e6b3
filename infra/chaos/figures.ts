import { chunkKeyOf, type RunFacts } from './invariants/facts.ts'
import { groupBy } from './invariants/log-index.ts'
import type { RunResult } from './run.ts'

export type Figures = {
  readonly imports: number
  /** The answers to POST by status; `none` when the connection failed. */
  readonly answers: Readonly<Record<string, number>>
  /** The longest time between a POST and its answer. */
  readonly slowestAnswerMs: number
  /** The longest time without a new 202 between the first and the last one. */
  readonly longestGapMs: number
  /** The 99th percentile of the time between the first POST of an import and its first 202. */
  readonly acceptedP99Ms: number
  readonly chunksDelivered: number
  readonly deliveries: number
  /** Deliveries of a chunk after its first one. Allowed before its success is in the log, and in `zombieWindows`. */
  readonly repeatedDeliveries: number
  readonly views: number
  readonly records: number
  readonly faults: number
  readonly recoveryMs: number
}

export function figuresOf({ facts, applied, recoveryMs }: RunResult): Figures {
  const { submissions, calls, views, log } = facts
  const delivered = calls.filter(({ status }) => status !== null && status >= 200 && status <= 299)
  const chunks = groupBy(delivered, ({ jobId, chunkIndex }) => chunkKeyOf(jobId, chunkIndex))
  const answers = submissions.flatMap((submission) => submission.answers)
  const acceptances = firstAcceptances(facts)
  const waits = acceptances.map(({ waitedMs }) => waitedMs).toSorted((a, b) => a - b)
  return {
    imports: submissions.length,
    answers: Object.fromEntries(
      [...groupBy(answers, ({ status }) => String(status ?? 'none'))].map(([s, a]) => [s, a.length]),
    ),
    slowestAnswerMs: answers.reduce((most, { sentAt, answeredAt }) => Math.max(most, answeredAt - sentAt), 0),
    longestGapMs: longestGap(acceptances.map(({ at }) => at)),
    acceptedP99Ms: waits[Math.floor(waits.length * 0.99)] ?? 0,
    chunksDelivered: chunks.size,
    deliveries: delivered.length,
    repeatedDeliveries: delivered.length - chunks.size,
    views: views.length,
    records: log.length,
    faults: applied.length,
    recoveryMs,
  }
}

const firstAcceptances = ({ submissions }: RunFacts) =>
  submissions.flatMap(({ answers }) => {
    const accepted = answers.find(({ jobId }) => jobId !== null)
    if (accepted === undefined) return []
    return [{ at: accepted.answeredAt, waitedMs: accepted.answeredAt - (answers[0]?.sentAt ?? accepted.sentAt) }]
  })

function longestGap(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted.slice(1).reduce((longest, at, index) => Math.max(longest, at - (sorted[index] ?? at)), 0)
}
