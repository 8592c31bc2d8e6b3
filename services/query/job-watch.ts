import type { AppliedOffsets, ImportJobReader } from '#shared/ports/import-jobs.ts'

type Deps = {
  readonly jobs: Pick<ImportJobReader, 'applied'>
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
}

export type JobWatch = {
  /**
   * Resolves with true when the applied offsets of the job differ from `applied` (null: no document), and after a
   * database error. Resolves with false when the signal aborts or when too many requests wait. Never rejects.
   */
  changed(job: WatchedJob, signal: AbortSignal): Promise<boolean>
  waiting(): number
  /** Resolves all current and later waits with false. */
  stop(): void
}

type WatchedJob = {
  readonly clientId: string
  readonly jobId: string
  readonly applied: AppliedOffsets | null
}

type Waiter = {
  readonly jobId: string
  readonly clientId: string
  readonly version: string
  readonly resolve: (changed: boolean) => void
}

const pollIntervalMs = 200
const maxWaiters = 1_000
const maxWaitersPerClient = 200

/** Polls MongoDB for changed jobs: one query per interval for all waiting requests, none if no request waits. */
export function createJobWatch({ jobs, pause }: Deps): JobWatch {
  const waiters = new Set<Waiter>()
  const stopped = new AbortController()
  let polling = false

  async function poll(): Promise<void> {
    polling = true
    while (waiters.size > 0 && !stopped.signal.aborted) {
      await pause(pollIntervalMs, stopped.signal)
      const current = [...waiters]
      try {
        const applied = await jobs.applied([...new Set(current.map(({ jobId }) => jobId))])
        for (const { jobId, version, resolve } of current) {
          if (versionOf(applied.get(jobId) ?? null) !== version) resolve(true)
        }
      } catch {
        for (const { resolve } of current) resolve(true)
      }
    }
    polling = false
  }

  const hasRoomFor = (clientId: string): boolean =>
    waiters.size < maxWaiters && [...waiters].filter((one) => one.clientId === clientId).length < maxWaitersPerClient

  return {
    async changed({ clientId, jobId, applied }, signal) {
      if (signal.aborted || stopped.signal.aborted || !hasRoomFor(clientId)) return false
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const waiter = { jobId, clientId, version: versionOf(applied), resolve }
      waiters.add(waiter)
      signal.addEventListener('abort', () => resolve(false), { once: true })
      if (!polling) void poll()
      const isChanged = await promise
      waiters.delete(waiter)
      return isChanged
    },
    waiting: () => waiters.size,
    stop() {
      stopped.abort()
      for (const { resolve } of waiters) resolve(false)
    },
  }
}

const versionOf = (applied: AppliedOffsets | null): string =>
  applied === null ? '' : `${applied.imports}/${applied.deliveries}`
