export type KeyedMutex = {
  /** Waits until the key is free, in order of arrival. Returns the function that releases it. */
  acquire(key: string): Promise<() => void>
}

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<void>>()
  return {
    async acquire(key) {
      const before = last.get(key)
      const mine = Promise.withResolvers<void>()
      last.set(key, mine.promise)
      await before
      return () => {
        if (last.get(key) === mine.promise) last.delete(key)
        mine.resolve()
      }
    },
  }
}
