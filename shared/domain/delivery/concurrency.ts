export type Concurrency = {
  /** The integer part is the limit. The fraction accumulates changes smaller than one. */
  readonly limit: number
  /** The mean duration of a call when the AI system has no backlog. Null before the end of the first round. */
  readonly baselineMs: number | null
  readonly round: Round
}

type Round = {
  readonly calls: number
  readonly overloaded: number
  readonly totalMs: number
  /** The number of running calls reached the limit, so a higher limit may be better. */
  readonly saturated: boolean
}

const newRound: Round = { calls: 0, overloaded: 0, totalMs: 0, saturated: false }
const minCallsInRound = 8
/** A round is slow when its mean exceeds the baseline by this factor and by this many milliseconds. */
const slowFactor = 2
const slowByMs = 50
/** After a slower round the baseline rises by this share of the difference. */
const baselineRise = 0.02

export const startingConcurrency = (start: number): Concurrency => ({ limit: start, baselineMs: null, round: newRound })

export const limitOf = ({ limit }: Concurrency): number => Math.max(1, Math.floor(limit))

/**
 * A round has as many calls as the limit. After a round the limit grows by one if the round was saturated, and shrinks by
 * half the share of overloaded calls, as in DCTCP (RFC 8257 §3.3). A few failures reduce the limit little; a round
 * of failures halves the limit. All calls of a slow round count as overloaded.
 */
export function afterCall(
  { limit, baselineMs, round }: Concurrency,
  call: { readonly overloaded: boolean; readonly durationMs: number; readonly saturated: boolean },
  maxLimit: number,
): Concurrency {
  const counted: Round = {
    calls: round.calls + 1,
    overloaded: round.overloaded + (call.overloaded ? 1 : 0),
    totalMs: round.totalMs + call.durationMs,
    saturated: round.saturated || call.saturated,
  }
  if (counted.calls < Math.max(minCallsInRound, Math.floor(limit))) return { limit, baselineMs, round: counted }
  const meanMs = counted.totalMs / counted.calls
  const slow = baselineMs !== null && meanMs > baselineMs * slowFactor + slowByMs
  const overloadedShare = slow ? 1 : counted.overloaded / counted.calls
  const adapted = limit * (1 - overloadedShare / 2) + (counted.saturated && !slow ? 1 : 0)
  return {
    limit: Math.min(maxLimit, Math.max(1, adapted)),
    baselineMs: nextBaseline(baselineMs, meanMs),
    round: newRound,
  }
}

const nextBaseline = (baselineMs: number | null, meanMs: number): number =>
  baselineMs === null || meanMs < baselineMs ? meanMs : baselineMs + (meanMs - baselineMs) * baselineRise
