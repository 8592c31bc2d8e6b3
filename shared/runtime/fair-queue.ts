/** A round-robin queue over groups, so that a large group does not block a small one. FIFO within a group. */
export type FairQueue<T> = {
  push(group: string, item: T): void
  take(): T | undefined
  retain(wanted: (item: T) => boolean): void
  size(): number
  sizeOf(group: string): number
}

export function createFairQueue<T>(): FairQueue<T> {
  /** A Map keeps insertion order: a group that was served goes to the end. */
  const groups = new Map<string, T[]>()
  let size = 0

  return {
    push(group, item) {
      const waiting = groups.get(group)
      if (waiting === undefined) groups.set(group, [item])
      else waiting.push(item)
      size += 1
    },
    take() {
      const turn = groups.entries().next()
      if (turn.done) return undefined
      const [group, waiting] = turn.value
      groups.delete(group)
      const item = waiting.shift()
      if (waiting.length > 0) groups.set(group, waiting)
      size -= 1
      return item
    },
    retain(wanted) {
      for (const [group, waiting] of groups) {
        const kept = waiting.filter(wanted)
        size -= waiting.length - kept.length
        if (kept.length === 0) groups.delete(group)
        else groups.set(group, kept)
      }
    },
    size: () => size,
    sizeOf: (group) => groups.get(group)?.length ?? 0,
  }
}
