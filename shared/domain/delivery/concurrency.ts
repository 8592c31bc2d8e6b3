/** How many calls may be under way at a time, learned round by round from those that ended. */
export type Concurrency = {
  /** Its whole part is the limit; the rest lets small shares of failures add up. */
  readonly limit: number
  /** What a call of an unhurried AI system takes on average, in milliseconds; null before the first round. */
  readonly calmMs: number | null
  readonly round: Round
}

type Round = {
  readonly calls: number
  readonly overloaded: number
  readonly totalMs: number
  /** All that was allowed was used, so more may be worth trying. */
  readonly saturated: boolean
}

const newRound: Round = { calls: 0, overloaded: 0, totalMs: 0, saturated: false }
const leastCallsInRound = 8
/** Slower than this many times the calm mean, and by at least so much, is taken for a queue on the other side. */
const slowFactor = 2
const slowByMs = 50
/** How fast the calm mean follows when calls become slower for good. */
const calmFollows = 0.02

export const startingConcurrency = (start: number): Concurrency => ({ limit: start, calmMs: null, round: newRound })

export const limitOf = ({ limit }: Concurrency): number => Math.max(1, Math.floor(limit))

/**
 * A call ended. A round has as many calls as the limit: then it grows by one if it was used up (additive increase), and
 * shrinks by half the share of overloaded calls (429, 5xx, silence) as DCTCP does (RFC 8257 §3.3): few random failures
 * cost little, an overload halves it each round. A round that is slow as a whole counts as overloaded.
 */
export function afterCall(
  { limit, calmMs, round }: Concurrency,
  call: { readonly overloaded: boolean; readonly durationMs: number; readonly saturated: boolean },
  most: number,
): Concurrency {
  const counted: Round = {
    calls: round.calls + 1,
    overloaded: round.overloaded + (call.overloaded ? 1 : 0),
    totalMs: round.totalMs + call.durationMs,
    saturated: round.saturated || call.saturated,
  }
  if (counted.calls < Math.max(leastCallsInRound, Math.floor(limit))) return { limit, calmMs, round: counted }
  const meanMs = counted.totalMs / counted.calls
  const slow = calmMs !== null && meanMs > calmMs * slowFactor + slowByMs
  const share = slow ? 1 : counted.overloaded / counted.calls
  const grown = limit * (1 - share / 2) + (counted.saturated && !slow ? 1 : 0)
  return { limit: Math.min(most, Math.max(1, grown)), calmMs: calmer(calmMs, meanMs), round: newRound }
}

const calmer = (calmMs: number | null, meanMs: number): number =>
  calmMs === null || meanMs < calmMs ? meanMs : calmMs + (meanMs - calmMs) * calmFollows
