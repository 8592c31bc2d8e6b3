export type GroupCommitOptions<In, Out> = {
  /** One call to the database for all inputs, in their order; what it rejects with, each caller of the group gets. */
  readonly write: (group: readonly In[]) => Promise<readonly Out[]>
  readonly maxGroup: number
}

/**
 * A call to the database costs far more than one document more in it. So one call is under way at a time,
 * and writes that come meanwhile leave together in the next.
 */
export function createGroupCommit<In, Out>({ write, maxGroup }: GroupCommitOptions<In, Out>) {
  type Waiting = PromiseWithResolvers<Out> & { readonly input: In }
  const queue: Waiting[] = []
  let underWay = false

  async function writeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const outputs = await write(group.map(({ input }) => input))
      for (const [index, output] of outputs.entries()) group[index]?.resolve(output)
    } catch (error) {
      for (const waiting of group) waiting.reject(error)
    }
    underWay = false
    start()
  }

  function start(): void {
    if (underWay || queue.length === 0) return
    underWay = true
    void writeGroup(queue.splice(0, maxGroup))
  }

  return function commit(input: In): Promise<Out> {
    const waiting = { input, ...Promise.withResolvers<Out>() }
    queue.push(waiting)
    start()
    return waiting.promise
  }
}
