export type KeyedMutex = {
  /** Waits in order of arrival until the key is free. Returns the function that releases the key. */
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
