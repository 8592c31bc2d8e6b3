export type GroupCommitOptions<In, Out> = {
  readonly write: (group: readonly In[]) => Promise<readonly Out[]>
  readonly maxGroup: number
}

/** Group commit: runs one call at a time. Inputs that arrive during a call share the next call. */
export function createGroupCommit<In, Out>({ write, maxGroup }: GroupCommitOptions<In, Out>) {
  type Waiting = PromiseWithResolvers<Out> & { readonly input: In }
  const queue: Waiting[] = []
  let isWriting = false

  async function writeGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const outputs = await write(group.map(({ input }) => input))
      for (const [index, output] of outputs.entries()) group[index]?.resolve(output)
    } catch (error) {
      for (const waiting of group) waiting.reject(error)
    }
    isWriting = false
    start()
  }

  function start(): void {
    if (isWriting || queue.length === 0) return
    isWriting = true
    void writeGroup(queue.splice(0, maxGroup))
  }

  return function commit(input: In): Promise<Out> {
    const waiting = { input, ...Promise.withResolvers<Out>() }
    queue.push(waiting)
    start()
    return waiting.promise
  }
}
