import { onTestFinished } from 'vitest'

/** Counts turns of the event loop until the test ends. Two readings differ when other input was looked at in between. */
export function countTurns(): () => number {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  onTestFinished(() => {
    isOver = true
  })
  count()
  return () => turns
}
