import { randomUUID } from 'node:crypto'
import type { ImportAcceptedResponse } from '#schemas/http/import.ts'
import type { JobResponse } from '#schemas/http/job.ts'
import { eventually } from '../eventually.ts'

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** An HTTP client of the service. */
export type Producer = {
  request(path: string, init?: RequestInit): Promise<Answer>
  post(body: string | Uint8Array<ArrayBuffer>, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Repeats the request with the same key until the service responds with 202. */
  importContacts(contacts: readonly unknown[], key?: string): Promise<ImportAcceptedResponse>
  job(jobId: string): Promise<JobResponse>
  /** Waits until the job is completed or failed. */
  finishedJob(jobId: string, withinMs?: number): Promise<JobResponse>
}

export function createProducer(url: string, apiKey: string): Producer {
  async function request(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers)
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${apiKey}`)
    const response = await fetch(url + path, { ...init, headers })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null }
  }

  const post: Producer['post'] = (body, headers = {}) =>
    request('/v1/contacts/import', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID(), ...headers },
    })

  async function job(jobId: string): Promise<JobResponse> {
    const { status, text, body } = await request(`/v1/contacts/import/${jobId}`)
    if (status !== 200) throw new Error(`GET job answered ${status}: ${text}`)
    return body as JobResponse
  }

  return {
    request,
    post,
    importContacts: (contacts, key = randomUUID()) => {
      const body = JSON.stringify(contacts)
      return eventually(
        async () => {
          const { status, text, body: accepted } = await post(body, { 'idempotency-key': key })
          if (status !== 202) throw new Error(`POST answered ${status}: ${text}`)
          return accepted as ImportAcceptedResponse
        },
        { withinMs: 90_000, everyMs: 250 },
      )
    },
    job,
    finishedJob: (jobId, withinMs = 60_000) =>
      eventually(
        async () => {
          const found = await job(jobId)
          if (found.completed_at === null) throw new Error(`job ${jobId} is still ${found.status}`)
          return found
        },
        { withinMs, everyMs: 100 },
      ),
  }
}
