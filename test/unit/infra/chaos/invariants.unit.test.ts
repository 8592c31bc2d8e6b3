import { describe, expect, it } from 'vitest'
import { invariants, violationsOf } from '#infra/chaos/invariants/check-invariants.ts'
import type { LogEntry, RunFacts } from '#infra/chaos/invariants/facts.ts'
import type { JobResponse } from '#schemas/http/job.ts'
import {
  accepted,
  answer,
  begin,
  call,
  entry,
  failed,
  jobIds,
  planned,
  sent,
  soundRun,
} from '#test/support/cluster/sound-run.ts'

const [one, other] = jobIds
const run = soundRun()

const without = (facts: RunFacts, isGone: (entry: LogEntry) => boolean): RunFacts => ({
  ...facts,
  log: facts.log.filter((found) => !isGone(found)),
})
const withEntry = (facts: RunFacts, added: LogEntry): RunFacts => ({ ...facts, log: [...facts.log, added] })

const withAnswer = (facts: RunFacts, added: RunFacts['submissions'][number]['answers'][number]): RunFacts => ({
  ...facts,
  submissions: facts.submissions.map((submission, index) =>
    index === 0 ? { ...submission, answers: [...submission.answers, added] } : submission,
  ),
})

function jobOf(facts: RunFacts, jobId: string): JobResponse {
  const job = facts.finalJobs.get(jobId)
  if (job === undefined) throw new Error(`Job ${jobId} is missing.`)
  return job
}
const withJob = (facts: RunFacts, change: Partial<JobResponse>): RunFacts => ({
  ...facts,
  finalJobs: new Map([...facts.finalJobs, [one, { ...jobOf(facts, one), ...change }]]),
})
const withView = (facts: RunFacts, job: JobResponse | null, status = 200): RunFacts => ({
  ...facts,
  views: [...facts.views, { jobId: one, sentAt: begin + 2_000, answeredAt: begin + 2_005, status, job }],
})
const firstView = (facts: RunFacts, jobId: string): JobResponse | null =>
  facts.views.find((view) => view.jobId === jobId)?.job ?? null

/** For each promise, facts of a system that breaks it. */
const bugs: readonly (readonly [promise: keyof typeof invariants, bug: string, facts: RunFacts])[] = [
  ['a valid import is answered 202, 409 or 503', 'a 500', withAnswer(run, answer(400, 500))],
  ['a valid import is answered 202, 409 or 503', 'a 422 for the same body', withAnswer(run, answer(400, 422))],
  [
    'every import is accepted in the end',
    'a key that stays in progress',
    { ...run, submissions: run.submissions.map((submission) => ({ ...submission, answers: [answer(10, 409)] })) },
  ],
  ['one idempotency key has one job', 'a second 202 with another job', withAnswer(run, answer(400, 202, other))],
  [
    'one idempotency key has one job',
    'a second job in the log',
    withEntry(run, entry(accepted('00000000-0000-4000-8000-000000000003', correlationOf(run)), { offset: 100 })),
  ],
  [
    'every import answered 202 is in the log, complete',
    'a 202 although the append failed',
    without(run, ({ event }) => event.type === 'ImportAccepted' && event.data.job_id === one),
  ],
  [
    'every import answered 202 is in the log, complete',
    'a batch without its last record',
    without(run, ({ id }) => id === `${one}/chunks/1/planned`),
  ],
  [
    'every import answered 202 is in the log, complete',
    'a contact that was lost',
    { ...run, submissions: run.submissions.map((submission) => ({ ...submission, totalContacts: 5 })) },
  ],
  [
    'a copy of a record is marked',
    'a batch that a producer appended twice',
    withEntry(run, entry(planned(one, 0), { offset: 100, appendedAt: begin + 500, time: begin })),
  ],
  ['every record can be decoded', 'a damaged record', { ...run, unreadable: ['contact-import.imports/3@5'] }],
  ['no service ends by itself', 'a crash', { ...run, unexpectedExits: ['dispatcher-1 (exit code 1)'] }],
  [
    'every chunk in the log is delivered or rejected',
    'a chunk that a dispatcher skipped',
    without(run, ({ event }) => event.type === 'ChunkSent' && event.data.job_id === one),
  ],
  [
    'every chunk in the log is delivered or rejected',
    'an outcome that was logged before the call',
    { ...run, calls: run.calls.filter(({ jobId }) => jobId !== one) },
  ],
  [
    'every chunk in the log is delivered or rejected',
    'a chunk that was given up without a rejection',
    {
      ...run,
      log: run.log.map((found) =>
        found.id === `${one}/chunks/1/attempts/1/sent`
          ? entry(failed(one, 1, 1, 224), { offset: found.offset })
          : found,
      ),
    },
  ],
  [
    'the contacts arrive as planned',
    'contacts in another order',
    { ...run, calls: run.calls.map((made) => ({ ...made, phones: made.phones.toReversed() })) },
  ],
  [
    'the contacts arrive as planned',
    'a chunk of an import that was refused',
    { ...run, calls: [...run.calls, call('00000000-0000-4000-8000-000000000009', 0, { sentAt: 1, status: 200 })] },
  ],
  ['a chunk has one outcome', 'a second success', withEntry(run, entry(sent(one, 0, 2, 20_000), { offset: 100 }))],
  ['a chunk has one outcome', 'sent, then failed', withEntry(run, entry(failed(one, 0, 2, 20_000), { offset: 100 }))],
  [
    'an outcome belongs to a planned chunk',
    'an outcome of another chunk',
    withEntry(run, entry(sent('00000000-0000-4000-8000-000000000009', 0, 1, 20_000), { offset: 100 })),
  ],
  [
    'no chunk is delivered after its success was logged',
    'a dispatcher that ignored the outcome',
    { ...run, calls: [...run.calls, call(one, 0, { sentAt: 15_000, status: 200 })] },
  ],
  ['an accepted job is found by GET', 'a 404 after the 202', withView(run, null, 404)],
  ['every accepted job finishes', 'a stuck projector', withJob(run, { status: 'processing', completed_at: null })],
  ['every accepted job finishes', 'a job that GET lost', { ...run, finalJobs: new Map() }],
  ['the counters of a job add up', 'a blind increment', withJob(run, { sent_contacts: 4 })],
  [
    'GET equals the fold of the log',
    'an event that was applied twice',
    withJob(run, { updated_at: '2026-02-01T00:00:00.000Z' }),
  ],
  ['GET never returns to an earlier state', 'a rollback of the database', withView(run, firstView(run, one))],
  [
    'the end of an import is announced',
    'a projector that ended before the announcement',
    without(run, ({ event }) => event.type === 'ImportCompleted' && event.data.job_id === one),
  ],
]

function correlationOf({ submissions }: RunFacts): string {
  return submissions[0]?.correlationId ?? ''
}

describe('the invariants of a run', () => {
  it('hold in a sound run', () => {
    expect(violationsOf(run)).toEqual({})
  })

  it.each(bugs)('%s: notices %s', (promise, _, facts) => {
    expect(violationsOf(facts)[promise]?.length).toBeGreaterThan(0)
  })

  it('are each broken by one of these bugs', () => {
    expect([...new Set(bugs.map(([promise]) => promise))].toSorted()).toEqual(Object.keys(invariants).toSorted())
  })
})

describe('what the invariants allow', () => {
  const zombieWindows = [{ from: begin + 14_000, to: begin + 21_000 }]

  it('a repeated append of one outcome', () => {
    expect(violationsOf(withEntry(run, entry(sent(one, 0, 1, 719), { offset: 100, time: begin + 719 })))).toEqual({})
  })

  it('a marked copy, and a late copy by the first holder of the claim', () => {
    const marked = entry(planned(one, 0), { offset: 100, appendedAt: begin + 500, time: begin, repeat: true })
    const late = entry(planned(one, 0), { offset: 101, appendedAt: begin + 11_000, time: begin })
    expect(violationsOf(withEntry(withEntry(run, marked), late))).toEqual({})
  })

  it('a second delivery and a second outcome after a suspended dispatcher continued', () => {
    const again = { ...run, calls: [...run.calls, call(one, 0, { sentAt: 15_000, status: 200 })] }
    expect(
      violationsOf({ ...withEntry(again, entry(sent(one, 0, 2, 20_000), { offset: 100 })), zombieWindows }),
    ).toEqual({})
  })

  it('views of overlapping requests in any order', () => {
    const [view] = run.views.filter(({ job }) => job?.status === 'completed')
    const overlapping = {
      ...view,
      jobId: one,
      status: 200,
      job: firstView(run, one),
      sentAt: begin + 1_005,
      answeredAt: begin + 1_020,
    }
    expect(violationsOf({ ...run, views: [...run.views, overlapping] })).toEqual({})
  })
})
