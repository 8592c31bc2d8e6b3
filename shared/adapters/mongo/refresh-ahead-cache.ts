import type { Clock, Instant } from '#shared/ports/clock.ts'

const maxAgeMs = 5_000
/** An entry of this age is reloaded in the background when it is read, so that no caller waits. */
const refreshAfterMs = 2_500
/** Keys without a value have a separate limit, so that a flood of unknown keys evicts no known key. */
const maxFound = 10_000
const maxAbsent = 1_000

type Options<T> = {
  readonly load: (key: string) => Promise<T | null>
  readonly clock: Clock
}
type Answer<T> = { readonly value: T | null; readonly readAt: Instant }

/** Caches values for 5 s, also while `load` fails; then throws the error of `load`. One load at a time per key. */
export function createRefreshAheadCache<T>({ load, clock }: Options<T>): (key: string) => Promise<T | null> {
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
    const running = loading.get(key)
    if (running !== undefined) return running
    const started = loadAndKeep(key)
    loading.set(key, started)
    return started
  }

  return async function get(key) {
    const answer = found.get(key) ?? absent.get(key)
    // A negative age means that the clock was set back, so the real age is unknown.
    const age = answer === undefined ? -1 : clock.now() - answer.readAt
    if (answer === undefined || age < 0 || age >= maxAgeMs) return refresh(key)
    // Ignore the error here: the caller that finds the entry expired loads again.
    if (age >= refreshAfterMs) refresh(key).catch(() => undefined)
    return answer.value
  }
}

function keep<T>(answers: Map<string, Answer<T>>, max: number, key: string, answer: Answer<T>): void {
  answers.set(key, answer)
  const oldest = answers.keys().next()
  if (answers.size > max && oldest.done !== true) answers.delete(oldest.value)
}
