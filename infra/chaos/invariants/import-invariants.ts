import { chunkKeyOf, type RunFacts, type Submission } from './facts.ts'
import type { Invariant, Invariants } from './invariant.ts'
import { groupBy, type LogIndex } from './log-index.ts'

/** A copy may lack `ce_repeat` when the holder of the claim appends it later than this after `created_at`. */
const lateAppendMs = 10_000

const jobIdsOf = ({ answers }: Submission): readonly string[] => [
  ...new Set(answers.flatMap(({ jobId }) => jobId ?? [])),
]

/** 409: another request holds the key. 503: a dependency is lost. */
const answersAreDocumented: Invariant = ({ submissions }) =>
  submissions.flatMap(({ key, answers }) =>
    answers
      .filter(({ status }) => status !== null && ![202, 409, 503].includes(status))
      .map(({ status }) => `The valid import with key ${key} was answered ${status}.`),
  )

const everyImportIsAcceptedInTheEnd: Invariant = ({ submissions }) =>
  submissions
    .filter((submission) => jobIdsOf(submission).length === 0)
    .map(({ key, answers }) => `Key ${key} was never answered 202; the last status was ${answers.at(-1)?.status}.`)

const oneKeyHasOneJob: Invariant = ({ submissions }, { accepted }) => {
  const jobsInLog = groupBy([...accepted.values()].flat(), ({ event }) => event.data.correlation_id)
  return submissions.flatMap((submission) => {
    const inLog = (jobsInLog.get(submission.correlationId) ?? []).map(({ event }) => event.data.job_id)
    const jobIds = new Set([...jobIdsOf(submission), ...inLog])
    return jobIds.size > 1 ? [`Key ${submission.key} has ${jobIds.size} jobs: ${[...jobIds].join(', ')}.`] : []
  })
}

const acceptedImportsAreInTheLog: Invariant = ({ submissions }, log) =>
  submissions.flatMap((submission) => jobIdsOf(submission).flatMap((jobId) => missingOf(submission, jobId, log)))

function missingOf({ totalContacts, phones }: Submission, jobId: string, { accepted, planned }: LogIndex): string[] {
  const [entry] = accepted.get(jobId) ?? []
  if (entry === undefined) return [`Job ${jobId} was answered 202, but ImportAccepted is not in the log.`]
  const { chunks_count, total_contacts, valid_contacts } = entry.event.data
  const faults: string[] = []
  if (total_contacts !== totalContacts || valid_contacts !== phones.length) {
    faults.push(
      `Job ${jobId} has ${total_contacts} contacts (${valid_contacts} valid) in the log; ${totalContacts} (${phones.length} valid) were posted.`,
    )
  }
  const chunks = Array.from({ length: chunks_count }, (_, index) => planned.get(chunkKeyOf(jobId, index))?.[0])
  const missing = chunks.flatMap((chunk, index) => (chunk === undefined ? [index] : []))
  if (missing.length > 0) faults.push(`Job ${jobId} lacks ChunkPlanned ${missing.join(', ')}.`)
  const plannedPhones = chunks.flatMap((chunk) => chunk?.event.data.contacts.map(({ phone }) => phone) ?? [])
  if (missing.length === 0 && plannedPhones.join() !== phones.join()) {
    faults.push(`The planned contacts of job ${jobId} differ from the posted ones.`)
  }
  return faults
}

/** An unmarked copy looks like a new chunk to a dispatcher that has forgotten the first. */
const copiesAreMarked: Invariant = (_, { accepted, planned }) =>
  [...accepted.values(), ...planned.values()].flatMap(([, ...copies]) =>
    copies
      .filter(({ isRepeat, appendedAt, time }) => !isRepeat && appendedAt - Date.parse(time) <= lateAppendMs)
      .map(
        ({ id, topic, partition, offset }) =>
          `${id} was appended again at ${topic}/${partition}@${offset} without ce_repeat.`,
      ),
  )

const everyRecordIsReadable: Invariant = ({ unreadable }) =>
  unreadable.map((place) => `The record at ${place} cannot be decoded.`)

const noProcessEndsByItself: Invariant = ({ unexpectedExits }: RunFacts) =>
  unexpectedExits.map((name) => `${name} ended although no fault ended it.`)

export const importInvariants: Invariants = {
  'a valid import is answered 202, 409 or 503': answersAreDocumented,
  'every import is accepted in the end': everyImportIsAcceptedInTheEnd,
  'one idempotency key has one job': oneKeyHasOneJob,
  'every import answered 202 is in the log, complete': acceptedImportsAreInTheLog,
  'a copy of a record is marked': copiesAreMarked,
  'every record can be decoded': everyRecordIsReadable,
  'no service ends by itself': noProcessEndsByItself,
}
