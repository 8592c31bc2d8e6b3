export type Concurrency = {
  /** The integer part is the limit. The fraction accumulates changes smaller than one. */
  readonly limit: number
  /** The usual duration of a successful call, per size class. Undefined before the first round with such calls. */
  readonly usualMs: readonly (number | undefined)[]
  readonly round: Round
  /** Set after a slow round reduced the limit. The next round shows whether fewer calls at a time are faster. */
  readonly reduced: { readonly fromLimit: number; readonly slowdown: number } | null
  /** How often slow rounds reduced the limit. */
  readonly reductions: number
}

type Round = {
  readonly calls: number
  readonly overloaded: number
  /** The successful calls, per size class. */
  readonly successes: readonly (Durations | undefined)[]
  /** The number of running calls reached the limit, so a higher limit may be better. */
  readonly saturated: boolean
}

type Durations = { readonly calls: number; readonly totalMs: number }

export type EndedCall = {
  readonly is: 'succeeded' | 'overloaded'
  readonly durationMs: number
  /** The number of contacts. */
  readonly size: number
  readonly saturated: boolean
  /** `reductions` of the state in which the call started. */
  readonly reductions: number
}

const newRound: Round = { calls: 0, overloaded: 0, successes: [], saturated: false }
const minCallsInRound = 8
/** A round is slow when its calls take longer than usual by this factor. */
const slowFactor = 2
/** Shorter usual durations count as this one: a call of 200 ms is never slow. */
const leastUsualMs = 100
/**
 * Faster calls shorten the usual duration by this share of the difference per round. Slower calls do not change it,
 * because a growing backlog would raise it.
 */
const fasterShare = 0.25

export const startingConcurrency = (start: number): Concurrency => ({
  ...{ limit: start, usualMs: [], round: newRound, reduced: null, reductions: 0 },
})

export const limitOf = ({ limit }: Concurrency): number => Math.max(1, Math.floor(limit))

/** Calls of nearly the same size are compared, because a chunk of 1,000 contacts takes longer than one of ten. */
const sizeClassOf = (size: number): number => Math.ceil(Math.log2(Math.max(1, size)))

/**
 * A round has as many calls as the limit. After a round the limit grows by one if the round was saturated, and shrinks by
 * half the share of overloaded calls, as in DCTCP (RFC 8257 §3.3). A slow round halves the limit, and the next round
 * shows the reason (compare the minRTT probe of Envoy's adaptive concurrency): if fewer calls at a time are faster, the
 * AI system had a backlog; if not, its calls take longer now, and the limit is restored.
 */
export function afterCall(state: Concurrency, call: EndedCall, maxLimit: number): Concurrency {
  // A call that started at a higher limit says nothing about the present limit.
  if (call.reductions < state.reductions) return state
  const round = withCall(state.round, call)
  if (round.calls < Math.max(minCallsInRound, Math.floor(state.limit))) return { ...state, round }
  const next = afterRound({ ...state, round })
  return { ...next, limit: Math.min(maxLimit, Math.max(1, next.limit)), round: newRound }
}

function withCall(round: Round, { is, durationMs, size, saturated }: EndedCall): Round {
  const counted = { ...round, calls: round.calls + 1, saturated: round.saturated || saturated }
  if (is === 'overloaded') return { ...counted, overloaded: round.overloaded + 1 }
  const successes = [...round.successes]
  const { calls, totalMs } = successes[sizeClassOf(size)] ?? { calls: 0, totalMs: 0 }
  successes[sizeClassOf(size)] = { calls: calls + 1, totalMs: totalMs + durationMs }
  return { ...counted, successes }
}

function afterRound(state: Concurrency): Concurrency {
  const { limit, round, reduced } = state
  const kept = 1 - round.overloaded / round.calls / 2
  const slowdown = slowdownOf(state)
  if (slowdown <= slowFactor) {
    const usualMs = learn(state, (before, now) => before + Math.min(0, now - before) * fasterShare)
    return { ...state, limit: limit * kept + (round.saturated ? 1 : 0), usualMs, reduced: null }
  }
  if (limitOf(state) === 1 || (reduced !== null && !isFaster(state, reduced, slowdown))) {
    const usualMs = learn(state, (_before, now) => now)
    return { ...state, limit: Math.max(limit, reduced?.fromLimit ?? 0) * kept, usualMs, reduced: null }
  }
  return {
    ...state,
    limit: limit / 2,
    reduced: { fromLimit: limit, slowdown },
    reductions: state.reductions + 1,
  }
}

/** How many times longer than usual the successful calls of the round took. One when nothing is known. */
function slowdownOf({ round, usualMs }: Concurrency): number {
  let actual = 0
  let usual = 0
  for (const [index, durations] of round.successes.entries()) {
    if (durations === undefined) continue
    const known = usualMs[index] ?? durations.totalMs / durations.calls
    actual += durations.totalMs
    usual += durations.calls * Math.max(leastUsualMs, known)
  }
  return usual === 0 ? 1 : actual / usual
}

/** Durations in a backlog are proportional to the limit. The boundary is halfway between proportional and unchanged. */
const isFaster = (state: Concurrency, { fromLimit, slowdown }: { fromLimit: number; slowdown: number }, now: number) =>
  now / slowdown <= (1 + state.limit / fromLimit) / 2

function learn({ round, usualMs }: Concurrency, next: (before: number, now: number) => number) {
  const learnt = [...usualMs]
  for (const [index, durations] of round.successes.entries()) {
    if (durations === undefined) continue
    const mean = durations.totalMs / durations.calls
    learnt[index] = next(learnt[index] ?? mean, mean)
  }
  return learnt
}
