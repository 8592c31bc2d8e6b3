/** Resolves in a later turn of the event loop, when the input that waited was looked at. In the order of the calls. */
export type NextTurn = () => Promise<void>

/**
 * Turns for work that input goes before. Each turn lets so many callers go on, so that a crowd of them does not keep
 * input waiting in its turn.
 */
export function createTurns(callersPerTurn: number): NextTurn {
  let waiting: (() => void)[] = []
  let isScheduled = false

  const letGoOn = (): void => {
    const [now, later] = [waiting.slice(0, callersPerTurn), waiting.slice(callersPerTurn)]
    waiting = later
    isScheduled = later.length > 0
    if (isScheduled) setImmediate(letGoOn)
    for (const goOn of now) goOn()
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (isScheduled) return
      isScheduled = true
      setImmediate(letGoOn)
    })
}
