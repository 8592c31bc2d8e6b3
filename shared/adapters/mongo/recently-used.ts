/** Creates a value per key on first use, and keeps the values of the `max` keys that were used last. */
export function createRecentlyUsed<T>(max: number, create: (key: string) => T): (key: string) => T {
  const values = new Map<string, T>()
  return (key) => {
    const value = values.get(key) ?? create(key)
    // A Map keeps insertion order: the first key is the one whose last use is the longest ago.
    values.delete(key)
    values.set(key, value)
    for (const oldest of values.size > max ? values.keys().take(1) : []) values.delete(oldest)
    return value
  }
}
