import { setTimeout as wait } from 'node:timers/promises'
import type { Static, TSchema } from '@sinclair/typebox'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { ImportAcceptedResponse } from '#schemas/http/import.ts'
import { JobResponse } from '#schemas/http/job.ts'

export type Target = { readonly url: string; readonly key: string; readonly signal: AbortSignal }
export type Posted = {
  readonly accepted: ImportAcceptedResponse
  readonly milliseconds: number
  readonly retries: number
}

const repeatable = new Set([409, 429, 503])
const longestWaitMs = 5_000

/** Retries after 409, 429 and 503. Throws an AbortError when `signal` of the target is aborted. */
async function sendWithRetries(
  target: Target,
  path: string,
  init: RequestInit,
): Promise<{ answer: Response; retries: number }> {
  for (let retries = 0; ; retries++) {
    const answer = await fetch(`${target.url}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${target.key}` },
      signal: target.signal,
    })
    if (!repeatable.has(answer.status)) return { answer, retries }
    await answer.body?.cancel()
    const seconds = Number(answer.headers.get('retry-after') ?? 1)
    await wait(Math.min(Number.isFinite(seconds) ? seconds * 1000 : 1000, longestWaitMs), undefined, target)
  }
}

const ajv = new Ajv2020()
formats.default(ajv)

function bodyReader<S extends TSchema>(schema: S, expected: number): (answer: Response) => Promise<Static<S>> {
  const fits = ajv.compile<Static<S>>(schema)
  return async (answer) => {
    const text = await answer.text()
    if (answer.status !== expected) {
      throw new Error(`The service responded with ${answer.status} instead of ${expected}: ${text.slice(0, 500)}`)
    }
    const body: unknown = JSON.parse(text)
    if (!fits(body)) throw new Error(`The response does not match its schema: ${ajv.errorsText(fits.errors)}`)
    return body
  }
}

const acceptedBody = bodyReader(ImportAcceptedResponse, 202)
const jobBody = bodyReader(JobResponse, 200)

/** Posts one import with a new idempotency key. @throws Error when the response is not 202 */
export async function postImport(target: Target, body: Uint8Array<ArrayBuffer>): Promise<Posted> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
  const begun = performance.now()
  const { answer, retries } = await sendWithRetries(target, '/v1/contacts/import', { method: 'POST', headers, body })
  const accepted = await acceptedBody(answer)
  return { accepted, milliseconds: performance.now() - begun, retries }
}

export async function finishedJob(target: Target, jobId: string, everyMs: number): Promise<JobResponse> {
  for (;;) {
    const { answer } = await sendWithRetries(target, `/v1/contacts/import/${jobId}`, {})
    const job = await jobBody(answer)
    if (job.status === 'completed' || job.status === 'failed') return job
    await wait(everyMs, undefined, target)
  }
}
