import { onTestFinished } from 'vitest'

/** Returns the number of event loop iterations so far. Pending input is processed in each iteration. */
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
