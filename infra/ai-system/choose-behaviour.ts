import type { Behaviour, Rule, Script } from './script.ts'

export type Request = {
  /** `request` numbers all requests, `attempt` the requests with the same key. Both start at 1. */
  readonly request: number
  readonly attempt: number
  readonly key: string
  readonly jobId: string
  readonly chunkIndex: number
}

/** The chosen behaviours depend only on the seed and the sequence of requests. */
export function behaviourChooser(
  { rules = [], otherwise = {} }: Script,
  seed: number,
): (request: Request) => Behaviour {
  const left = rules.map((rule) => ({ rule, times: rule.times ?? Number.POSITIVE_INFINITY }))
  const random = mulberry32(seed)
  return (request) => {
    for (const entry of left) {
      if (entry.times === 0 || !matches(entry.rule, request)) continue
      if (entry.rule.rate !== undefined && random() >= entry.rule.rate) continue
      entry.times -= 1
      return entry.rule.behave
    }
    return otherwise
  }
}

function matches({ match = {} }: Rule, request: Request): boolean {
  return (
    within(match.attempt, request.attempt) &&
    within(match.request, request.request) &&
    (match.key === undefined || match.key === request.key) &&
    (match.job_id === undefined || match.job_id === request.jobId) &&
    (match.chunk_index === undefined || match.chunk_index === request.chunkIndex)
  )
}

function within(position: number | number[] | undefined, at: number): boolean {
  if (position === undefined) return true
  const [first = 1, last = first] = [position].flat()
  return at >= first && at <= last
}

function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
