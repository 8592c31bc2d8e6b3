import { Value } from '@sinclair/typebox/value'
import { JobResponse } from '#schemas/http/job.ts'
import { fixedDelay, pauseFor, retry, tryAgain } from '#shared/runtime/retry.ts'
import type { Random } from '#test/support/builders/random.ts'
import type { View } from './invariants/facts.ts'

type Options = { readonly urls: () => readonly string[]; readonly apiKey: string; readonly random: Random }

export type Viewer = {
  readonly views: readonly View[]
  /** Reads the job at once, as a producer does after the 202, and adds it to the jobs that are read at random. */
  watch(jobId: string): void
  /** Ends the reading of random jobs. */
  stop(): Promise<void>
  /** Reads each watched job until it has ended. Jobs that have not ended within the time are returned as they are. */
  finalJobs(withinMs: number): Promise<ReadonlyMap<string, JobResponse>>
}

const everyMs = 60
const recentJobs = 40
const requestWithinMs = 10_000

/** Reads random jobs of the load continuously, so that a return to an earlier state is noticed. */
export function startViewer({ urls, apiKey, random }: Options): Viewer {
  const views: View[] = []
  const jobIds: string[] = []
  const reading = new Set<Promise<unknown>>()
  const stopping = new AbortController()

  const view = (jobId: string) => readJob({ urls, apiKey }, jobId, (seen) => views.push(seen))
  function begin(jobId: string) {
    const work = view(jobId).finally(() => reading.delete(work))
    reading.add(work)
  }
  async function viewForever() {
    while (!stopping.signal.aborted) {
      const from = random.chance(0.5) ? jobIds : jobIds.slice(-recentJobs)
      if (from.length > 0) begin(random.pick(from))
      await pauseFor(everyMs, stopping.signal)
    }
  }
  const viewing = viewForever()
  return {
    views,
    watch(jobId) {
      jobIds.push(jobId)
      begin(jobId)
    },
    async stop() {
      stopping.abort()
      await viewing
      await Promise.all(reading)
    },
    async finalJobs(withinMs) {
      const jobs = new Map<string, JobResponse>()
      const open = new Set(jobIds)
      const readOpen = async () => {
        for (const jobId of open) {
          const job = await view(jobId)
          if (job !== null) jobs.set(jobId, job)
          if (job?.completed_at != null) open.delete(jobId)
        }
        return open.size === 0 ? undefined : tryAgain
      }
      await retry(readOpen, { delays: fixedDelay(500, withinMs) })
      return jobs
    },
  }
}

/** Returns null when the service did not answer with the job. */
async function readJob(
  { urls, apiKey }: Pick<Options, 'urls' | 'apiKey'>,
  jobId: string,
  onView: (view: View) => void,
): Promise<JobResponse | null> {
  const [url] = urls()
  const sentAt = Date.now()
  try {
    const response = await fetch(`${url}/v1/contacts/import/${jobId}`, {
      headers: { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(requestWithinMs),
    })
    const body: unknown = await response.json()
    const job = response.status === 200 && Value.Check(JobResponse, body) ? body : null
    onView({ jobId, sentAt, answeredAt: Date.now(), status: response.status, job })
    return job
  } catch {
    return null // The connection failed: nothing was shown.
  }
}
