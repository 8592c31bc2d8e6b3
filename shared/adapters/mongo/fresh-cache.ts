import type { Clock, Instant } from '#shared/ports/clock.ts'

/** An answer no older than this, counted from before it was read, may be given. */
const maxAgeMs = 5_000
/** From this age on an answer in use is read again in the background, so that nobody waits for it. */
const refreshAfterMs = 2_500
/** Unknown keys have a small space of their own: a flood of them pushes no known one out. */
const maxFound = 10_000
const maxAbsent = 1_000

type Options<T> = {
  /** Null: there is none. */
  readonly load: (key: string) => Promise<T | null>
  readonly clock: Clock
}
type Answer<T> = { readonly value: T | null; readonly readAt: Instant }

/**
 * Gives what `load` answers, at most 5 s old, with one load at a time per key. While loading fails, the last answer
 * is given until it is 5 s old; then the fault of `load` is thrown.
 */
export function createFreshCache<T>({ load, clock }: Options<T>): (key: string) => Promise<T | null> {
  const found = new Map<string, Answer<T>>()
  const absent = new Map<string, Answer<T>>()
  const loading = new Map<string, Promise<T | null>>()

  async function loadAndKeep(key: string): Promise<T | null> {
    const readAt = clock.now()
    try {
      const value = await load(key)
      found.delete(key)
      absent.delete(key)
      if (value === null) keep(absent, maxAbsent, key, { value, readAt })
      else keep(found, maxFound, key, { value, readAt })
      return value
    } finally {
      loading.delete(key)
    }
  }

  function refresh(key: string): Promise<T | null> {
    const under = loading.get(key)
    if (under !== undefined) return under
    const started = loadAndKeep(key)
    loading.set(key, started)
    return started
  }

  return async function get(key) {
    const answer = found.get(key) ?? absent.get(key)
    // A clock set back makes an age negative: then nothing is known about how old the answer is.
    const age = answer === undefined ? -1 : clock.now() - answer.readAt
    if (answer === undefined || age < 0 || age >= maxAgeMs) return refresh(key)
    // Whoever needs the answer once this one is too old meets the fault itself.
    if (age >= refreshAfterMs) refresh(key).catch(() => undefined)
    return answer.value
  }
}

/** The entry read longest ago makes room. */
function keep<T>(answers: Map<string, Answer<T>>, max: number, key: string, answer: Answer<T>): void {
  answers.set(key, answer)
  const oldest = answers.keys().next()
  if (answers.size > max && oldest.done !== true) answers.delete(oldest.value)
}
