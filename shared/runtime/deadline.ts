/** Settles like `work`, or after `ms` milliseconds like `onTimeout`. Does not cancel the work; ignores its later result. */
export async function withDeadline<T, U = T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => U | Promise<U>,
): Promise<T | U> {
  const timeout = Promise.withResolvers<U>()
  const timer = setTimeout(() => {
    try {
      timeout.resolve(onTimeout())
    } catch (error) {
      timeout.reject(error)
    }
  }, ms)
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
