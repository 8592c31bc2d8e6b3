/** How many calls may run at a time, adapted after every round of calls. */
export type Concurrency = {
  /** The integer part is the limit. The fraction accumulates small shares of failures. */
  readonly limit: number
  /** The mean duration of calls when the AI system has no backlog, in milliseconds; null before the first round. */
  readonly baselineMs: number | null
  readonly round: Round
}

type Round = {
  readonly calls: number
  readonly overloaded: number
  readonly totalMs: number
  /** The whole limit was in use, so a higher limit may be better. */
  readonly saturated: boolean
}

const newRound: Round = { calls: 0, overloaded: 0, totalMs: 0, saturated: false }
const minCallsInRound = 8
/** A round is slow when its mean exceeds the baseline by this factor and by this many milliseconds. */
const slowFactor = 2
const slowByMs = 50
/** How fast the baseline rises when calls become slower permanently. */
const baselineRise = 0.02

export const startingConcurrency = (start: number): Concurrency => ({ limit: start, baselineMs: null, round: newRound })

export const limitOf = ({ limit }: Concurrency): number => Math.max(1, Math.floor(limit))

/**
 * A call ended. A round has as many calls as the limit. After it the limit grows by one if it was saturated (additive
 * increase) and shrinks by half the share of overloaded calls (429, 5xx, no answer), as in DCTCP (RFC 8257 §3.3): random
 * failures cost little, an overload halves the limit in each round. All calls of a slow round count as overloaded.
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
