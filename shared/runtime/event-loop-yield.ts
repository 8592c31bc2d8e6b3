/** Resolves in a later iteration of the event loop, after pending I/O. Callers continue in order of arrival. */
export type EventLoopYield = () => Promise<void>

/** At most `callersPerIteration` callers continue in one iteration, so that many callers do not delay I/O. */
export function createEventLoopYield(callersPerIteration: number): EventLoopYield {
  let waiting: (() => void)[] = []

  const resume = (): void => {
    const callers = waiting.slice(0, callersPerIteration)
    waiting = waiting.slice(callersPerIteration)
    if (waiting.length > 0) setImmediate(resume)
    for (const continueCaller of callers) continueCaller()
  }

  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(resume)
    })
}
