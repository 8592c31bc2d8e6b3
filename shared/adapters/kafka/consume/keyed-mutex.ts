/** Lets one holder at a time have a key, in the order of arrival. */
export type KeyedMutex = {
  /** Resolves when it is this caller's turn, with the function that ends it. */
  enter(key: string): Promise<() => void>
}

export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<void>>()
  return {
    async enter(key) {
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
