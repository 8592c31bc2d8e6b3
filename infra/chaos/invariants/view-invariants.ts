import type { JobResponse } from '#schemas/http/job.ts'
import { toJobResponse } from '#shared/domain/projections/import-job.ts'
import type { RunFacts, View } from './facts.ts'
import type { Invariant, Invariants } from './invariant.ts'
import { groupBy } from './log-index.ts'

const acceptedJobs = ({ submissions }: RunFacts): ReadonlySet<string> =>
  new Set(submissions.flatMap(({ answers }) => answers.flatMap(({ jobId }) => jobId ?? [])))

const isFinished = ({ status }: JobResponse): boolean => status === 'completed' || status === 'failed'

const acceptedJobsAreFound: Invariant = ({ views }) =>
  views
    .filter(({ status, job }) => (status === 200 ? job === null : status !== 503))
    .map(({ jobId, status }) => `GET of the accepted job ${jobId} was answered ${status} without the job.`)

const everyJobFinishes: Invariant = (facts) =>
  [...acceptedJobs(facts)].flatMap((jobId) => {
    const job = facts.finalJobs.get(jobId)
    return job !== undefined && isFinished(job)
      ? []
      : [`Job ${jobId} did not finish; its last status is ${job?.status ?? 'unknown'}.`]
  })

function countersAddUpIn(job: JobResponse): boolean {
  const chunksOf = (...statuses: readonly string[]) => job.chunks.filter(({ status }) => statuses.includes(status))
  const sizeOf = (chunks: JobResponse['chunks']) => chunks.reduce((sum, { size }) => sum + size, 0)
  return [
    job.total_contacts === job.valid_contacts + job.invalid_contacts,
    job.chunks_total === job.chunks_completed + job.chunks_failed + job.chunks_pending,
    job.chunks_total === job.chunks.length,
    job.chunks_completed === chunksOf('sent').length,
    job.chunks_failed === chunksOf('failed').length,
    job.sent_contacts === sizeOf(chunksOf('sent')),
    job.failed_contacts === sizeOf(chunksOf('failed')),
    job.valid_contacts === sizeOf(job.chunks),
    isFinished(job) === (job.completed_at !== null),
    isFinished(job) === (job.chunks_pending === 0) || job.chunks_total === 0,
  ].every(Boolean)
}

const countersAddUp: Invariant = ({ views, finalJobs }) =>
  [...views.flatMap(({ job }) => job ?? []), ...finalJobs.values()]
    .filter((job) => !countersAddUpIn(job))
    .map(({ job_id, status }) => `The counters of job ${job_id} (${status}) do not add up.`)

const finalJobsEqualTheFold: Invariant = ({ finalJobs }, { documents }) =>
  [...finalJobs].flatMap(([jobId, job]) => {
    const document = documents.get(jobId)
    const folded = document === undefined ? null : toJobResponse(document)
    return JSON.stringify(folded) === JSON.stringify(job)
      ? []
      : [`GET of job ${jobId} differs from the fold of the log.`]
  })

/** Compares only requests that did not overlap, because overlapping ones have no order. */
const shownStatesStay: Invariant = ({ views }) =>
  [...groupBy(views, ({ jobId }) => jobId)].flatMap(([jobId, ofJob]) => {
    const shown = ofJob.filter(({ job }) => job !== null).toSorted((a, b) => a.answeredAt - b.answeredAt)
    return shown.flatMap((later, index) => {
      const earlier = shown.slice(0, index).filter(({ answeredAt }) => answeredAt <= later.sentAt)
      const newer = earlier.find((one) => isEarlierState(one, later))
      return newer === undefined ? [] : [`Job ${jobId} was ${newer.job?.status}, then ${later.job?.status}.`]
    })
  })

function isEarlierState({ job: earlier }: View, { job: later }: View): boolean {
  if (earlier === null || later === null) return false
  if (isFinished(earlier)) return JSON.stringify(earlier) !== JSON.stringify(later)
  return resolved(later) < resolved(earlier)
}

const resolved = (job: JobResponse): number => job.chunks_completed + job.chunks_failed

const finishedImportsAreAnnounced: Invariant = ({ finalJobs }, { announced }) =>
  [...finalJobs].flatMap(([jobId, job]) => {
    const events = announced.get(jobId) ?? []
    if (isFinished(job) && events.length === 0) return [`Job ${jobId} is ${job.status}, but its end was not announced.`]
    const wrong = events.filter(({ event: { type, data } }) => {
      const status = type === 'ImportCompleted' ? 'completed' : 'failed'
      return status !== job.status || data.sent_contacts !== job.sent_contacts || data.completed_at !== job.completed_at
    })
    return wrong.length === 0 ? [] : [`The announced end of job ${jobId} differs from GET.`]
  })

export const viewInvariants: Invariants = {
  'an accepted job is found by GET': acceptedJobsAreFound,
  'every accepted job finishes': everyJobFinishes,
  'the counters of a job add up': countersAddUp,
  'GET equals the fold of the log': finalJobsEqualTheFold,
  'GET never returns to an earlier state': shownStatesStay,
  'the end of an import is announced': finishedImportsAreAnnounced,
}
