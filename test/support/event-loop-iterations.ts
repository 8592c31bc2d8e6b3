import { onTestFinished } from 'vitest'

/**
 * Counts iterations of the event loop until the test ends. Two different readings mean that pending input was processed
 * between them.
 */
export function countEventLoopIterations(): () => number {
  let iterations = 0
  let isOver = false
  const count = (): void => {
    iterations += 1
    if (!isOver) setImmediate(count)
  }
  onTestFinished(() => {
    isOver = true
  })
  count()
  return () => iterations
}
