import { setTimeout as wait } from 'node:timers/promises'
import { createRandom, type Random } from '#test/support/builders/random.ts'
import type { Answer, Submission } from './invariants/facts.ts'

export type LoadOptions = {
  /** The ingest processes that run now. */
  readonly urls: () => readonly string[]
  readonly apiKey: string
  readonly seed: number
  readonly importsPerSecond: number
  /** Called at the first 202 of each import. */
  readonly onAccepted: (jobId: string) => void
}

export type Load = {
  readonly submissions: readonly Submission[]
  /** Posts no new imports. Resolves when every import is answered 202, or after `withinMs`. */
  stop(withinMs: number): Promise<void>
}

type OpenSubmission = Submission & { readonly answers: Answer[] }

const requestWithinMs = 20_000
const contactsPerImport = [1, 60] as const
const replayShare = 0.1

/** Repeats each import with its key until it is answered 202, and a tenth of them once more after the 202. */
export function startLoad(options: LoadOptions): Load {
  const { importsPerSecond, seed } = options
  const random = createRandom(seed)
  const submissions: OpenSubmission[] = []
  const open = new Set<Promise<void>>()
  const stopping = new AbortController()
  const givingUp = new AbortController()
  async function submitForever() {
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      const submission = submissionOf(random, seed, number)
      submissions.push(submission)
      const work = submit(submission, random.chance(replayShare), options, givingUp.signal)
      open.add(work)
      void work.finally(() => open.delete(work))
      await pause(1_000 / importsPerSecond, stopping.signal)
    }
  }
  const submitting = submitForever()
  return {
    submissions,
    async stop(withinMs) {
      stopping.abort()
      const timer = setTimeout(() => givingUp.abort(), withinMs)
      await submitting
      await Promise.all(open)
      clearTimeout(timer)
    },
  }
}

function submissionOf(random: Random, seed: number, number: number): OpenSubmission {
  const id = `${hex(seed, 8)}-0000-4000-8000-${hex(number, 12)}`
  const [least, most] = contactsPerImport
  const count = least + random.below(most - least + 1)
  const phones = Array.from({ length: count }, () => `+790${String(random.below(1e8)).padStart(8, '0')}`)
  return { key: `chaos-${id}`, correlationId: id, totalContacts: count + (number % 3), phones, answers: [] }
}

const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0').slice(-length)

async function submit(
  submission: OpenSubmission,
  isReplayed: boolean,
  options: LoadOptions,
  givingUp: AbortSignal,
): Promise<void> {
  const jobId = await untilAccepted(submission, options, givingUp)
  if (jobId !== null) options.onAccepted(jobId)
  if (!isReplayed || givingUp.aborted) return
  await pause(2_000, givingUp)
  await untilAccepted(submission, options, givingUp)
}

async function untilAccepted(
  submission: OpenSubmission,
  options: LoadOptions,
  givingUp: AbortSignal,
): Promise<string | null> {
  while (!givingUp.aborted) {
    const [url, ...others] = options.urls()
    const chosen = [url, ...others][submission.answers.length % (others.length + 1)]
    const { answer, retryAfterMs } = await post(submission, chosen, options.apiKey)
    submission.answers.push(answer)
    if (answer.jobId !== null) return answer.jobId
    await pause(retryAfterMs, givingUp)
  }
  return null
}

async function post(
  { key, correlationId, totalContacts, phones }: Submission,
  url: string | undefined,
  apiKey: string,
) {
  const invalid = Array.from({ length: totalContacts - phones.length }, () => ({ phone: 'unknown' }))
  const sentAt = Date.now()
  const answered = (status: number | null, jobId: string | null): Answer => ({
    sentAt,
    answeredAt: Date.now(),
    status,
    jobId,
  })
  try {
    const response = await fetch(`${url}/v1/contacts/import`, {
      method: 'POST',
      body: JSON.stringify([...phones.map((phone) => ({ phone })), ...invalid]),
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${apiKey}`,
        'idempotency-key': key,
        'x-correlation-id': correlationId,
      },
      signal: AbortSignal.timeout(requestWithinMs),
    })
    const body: unknown = await response.json()
    const retryAfterMs = Math.min(2_000, 1_000 * Number(response.headers.get('retry-after') ?? 0.25))
    return { answer: answered(response.status, response.status === 202 ? jobIdIn(body) : null), retryAfterMs }
  } catch {
    return { answer: answered(null, null), retryAfterMs: 250 }
  }
}

const jobIdIn = (body: unknown): string | null =>
  typeof body === 'object' && body !== null && 'job_id' in body && typeof body.job_id === 'string' ? body.job_id : null

const pause = (ms: number, signal: AbortSignal): Promise<void> => wait(ms, undefined, { signal }).catch(() => {})
