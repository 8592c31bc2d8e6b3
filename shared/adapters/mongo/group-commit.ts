export type GroupCommitOptions<In, Out> = {
  readonly write: (group: readonly In[]) => Promise<readonly Out[]>
  readonly maxGroup: number
}

/**
 * Group commit: runs one call at a time. Inputs that arrive during a call share the next call. An input whose deadline is
 * aborted before its call begins is not written; its promise rejects with the reason.
 */
export function createGroupCommit<In, Out>({ write, maxGroup }: GroupCommitOptions<In, Out>) {
  type Waiting = PromiseWithResolvers<Out> & { readonly input: In; readonly deadline: AbortSignal | null }
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
    if (isWriting) return
    const group: Waiting[] = []
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      if (next.deadline?.aborted) next.reject(next.deadline.reason)
      else if (group.push(next) === maxGroup) break
    }
    if (group.length === 0) return
    isWriting = true
    void writeGroup(group)
  }

  return function commit(input: In, deadline: AbortSignal | null = null): Promise<Out> {
    const waiting = { input, deadline, ...Promise.withResolvers<Out>() }
    queue.push(waiting)
    start()
    return waiting.promise
  }
}
