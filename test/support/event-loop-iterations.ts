import { onTestFinished } from 'vitest'

/** Counts event loop iterations until the end of the test. Returns a function that returns the current count. */
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
