import type { AppliedOffsets, ImportJobReader } from '#shared/ports/import-jobs.ts'

type Deps = {
  readonly jobs: Pick<ImportJobReader, 'applied'>
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

export type JobWatch = {
  /**
   * True when the job's document may no longer be the one folded from `applied` (null: there was none). False when the
   * signal aborts, and at once when too many wait already, in all or of this client. Never rejects: whoever waited
   * reads the job again and meets a lost database there.
   */
  changed(job: WatchedJob, signal: AbortSignal): Promise<boolean>
  waiting(): number
  /** Ends every wait, and those that come. */
  stop(): void
}

export type WatchedJob = {
  readonly clientId: string
  readonly jobId: string
  readonly applied: AppliedOffsets | null
}

type Waiter = {
  readonly jobId: string
  readonly clientId: string
  readonly mark: string
  readonly wake: (changed: boolean) => void
}

/** One look for all who wait costs one query by id, so there is no need to follow every write of the collection. */
const lookEveryMs = 200
const mostWaiters = 1_000
const mostOfOneClient = 200

/** Waits for jobs to change by looking at all of those that are waited for; it looks at nothing while nobody waits. */
export function createJobWatch({ jobs, pause }: Deps): JobWatch {
  const waiters = new Set<Waiter>()
  const stopped = new AbortController()
  let looking = false

  async function look(): Promise<void> {
    looking = true
    while (waiters.size > 0 && !stopped.signal.aborted) {
      await pause(lookEveryMs, stopped.signal)
      const asked = [...waiters]
      try {
        const applied = await jobs.applied([...new Set(asked.map(({ jobId }) => jobId))])
        for (const { jobId, mark, wake } of asked) if (markOf(applied.get(jobId) ?? null) !== mark) wake(true)
      } catch {
        for (const { wake } of asked) wake(true)
      }
    }
    looking = false
  }

  const hasRoomFor = (clientId: string): boolean =>
    waiters.size < mostWaiters && [...waiters].filter((one) => one.clientId === clientId).length < mostOfOneClient

  return {
    async changed({ clientId, jobId, applied }, signal) {
      if (signal.aborted || stopped.signal.aborted || !hasRoomFor(clientId)) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const waiter = { jobId, clientId, mark: markOf(applied), wake: resolve }
      waiters.add(waiter)
      signal.addEventListener('abort', () => resolve(false), { once: true })
      if (!looking) void look()
      const isChanged = await promise
      waiters.delete(waiter)
      return isChanged
    },
    waiting: () => waiters.size,
    stop() {
      stopped.abort()
      for (const { wake } of waiters) wake(false)
    },
  }
}

const markOf = (applied: AppliedOffsets | null): string =>
  applied === null ? '' : `${applied.imports}/${applied.deliveries}`
