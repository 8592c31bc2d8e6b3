import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { ErrorCode } from '../errors.ts'
import { Uuid } from '../primitives.ts'
import {
  acceptedExamples,
  dryRunExamples,
  type Examples,
  idempotencyExamples,
  importBodyExamples,
  jobExamples,
  jobListExamples,
  livenessExamples,
  notReadyExamples,
  readyExamples,
} from './examples.ts'
import { LivenessResponse, ReadinessResponse } from './health.ts'
import { IdempotencyRecord } from './idempotency.ts'
import { DryRunResponse, ImportAcceptedResponse, ImportBody, ImportHeaders } from './import.ts'
import { JobListQuery, JobListResponse, JobQuery, JobResponse } from './job.ts'

export const permissions = ['contacts:import', 'jobs:read', 'idempotency:read'] as const
export type Permission = (typeof permissions)[number]

export type Payload = { readonly description: string; readonly schema: TSchema; readonly examples: Examples }
type Headers = Readonly<Record<string, TSchema>>

/** One endpoint. The Fastify route, the OpenAPI document and the tests are derived from it. */
export type Contract = {
  readonly method: 'GET' | 'POST'
  readonly url: string // in Fastify's syntax: /v1/contacts/import/:job_id
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** The permission that the API client needs. Null: the endpoint requires no API key. */
  readonly permission: Permission | null
  readonly params?: TObject
  readonly query?: TObject
  /** Request headers in lower case, without `Authorization`: `permission` determines it. */
  readonly headers?: TObject
  readonly body?: Payload
  /** By status. Contains the 503 of `/readyz`, which has no `Problem` body. */
  readonly responses: Readonly<Record<number, Payload & { readonly headers?: Headers }>>
  readonly bodiless?: Readonly<Record<number, string>> // descriptions by status
  /** The errors of this endpoint, without `commonErrors`. */
  readonly errors: readonly ErrorCode[]
}

/** Errors that every endpoint can return. Some occur before the route of a request is known. */
export const commonErrors = [
  'bad_request',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ErrorCode[]

/** The compiler checks the examples against the type of the schema. */
const payload = <S extends TSchema, E extends Examples<Static<S>>>(schema: S, description: string, examples: E) => ({
  schema,
  description,
  examples,
})

const header = (description: string, example: string) => Type.String({ description, examples: [example] })

const correlation = header(
  'The correlation id of this request: the UUID that the client sent, otherwise a generated UUID v4.',
  '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34',
)
export const quotaHeaders = {
  'RateLimit-Policy': header(
    'The rate limit of the client: `q` requests per window of `w` seconds. Absent for clients without a limit, and when authentication fails.',
    '"client";q=10;w=1',
  ),
  RateLimit: header(
    'The remaining requests (`r`) and the seconds until the window resets (`t`). Absent when `RateLimit-Policy` is absent.',
    '"client";r=9;t=1',
  ),
}
const responseHeaders = {
  'X-Correlation-ID': correlation,
  ...quotaHeaders,
  'Cache-Control': header('Responses must not be cached.', 'no-store'),
}

const languageHeader = Type.Optional(Type.String({ description: 'Language of titles and messages: `en` or `ru`.' }))
const ReadHeaders = Type.Object({
  'x-correlation-id': ImportHeaders.properties['x-correlation-id'],
  'accept-language': languageHeader,
})
const ConditionalReadHeaders = Type.Object({
  ...ReadHeaders.properties,
  'if-none-match': Type.Optional(
    Type.String({ description: 'The `ETag` of the response that the client already has.' }),
  ),
})
const WriteHeaders = Type.Object({
  ...ImportHeaders.properties,
  'accept-language': languageHeader,
  'content-encoding': Type.Optional(Type.String({ description: '`gzip` when the body is compressed.' })),
})

const authenticated = [
  'header_invalid',
  'unauthorized',
  'ip_not_allowed',
  'permission_denied',
  'rate_limit_exceeded',
  'service_unavailable',
] as const

export const contracts = {
  importContacts: {
    method: 'POST',
    url: '/v1/contacts/import',
    operationId: 'importContacts',
    summary: 'Import contacts',
    description:
      'Imports one contact or an array of contacts. The service normalizes the phone numbers and delivers the valid ' +
      'contacts to the AI system in chunks. A 202 means that the import is stored durably. If you repeat the request ' +
      'with the same `Idempotency-Key` and the same body, you get the first response again, byte for byte. Contacts ' +
      'without a valid phone number are counted in `invalid_contacts` and not delivered. With `X-Debug: true` the ' +
      'service validates the contacts and plans the chunks, but stores and sends nothing.',
    permission: 'contacts:import',
    headers: WriteHeaders,
    body: payload(ImportBody, 'One contact object, or an array of contact objects.', importBodyExamples),
    responses: {
      200: {
        ...payload(
          DryRunResponse,
          'Dry run (`X-Debug: true`): what an import would send. Nothing was stored or sent.',
          dryRunExamples,
        ),
        headers: responseHeaders,
      },
      202: {
        ...payload(ImportAcceptedResponse, 'The import is stored and will be delivered.', acceptedExamples),
        headers: {
          ...responseHeaders,
          Location: header('The path of the job.', '/v1/contacts/import/0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'),
          'Idempotent-Replayed': header(
            '`true` when this is the stored response of an earlier request with the same key. Otherwise absent.',
            'true',
          ),
        },
      },
    },
    errors: [
      'invalid_json',
      'invalid_encoding',
      'validation_failed',
      'empty_import',
      'idempotency_key_missing',
      'idempotency_key_invalid',
      ...authenticated,
      'signature_missing',
      'signature_invalid',
      'timestamp_out_of_range',
      'request_in_progress',
      'payload_too_large',
      'unsupported_media_type',
      'idempotency_conflict',
    ],
  },
  listJobs: {
    method: 'GET',
    url: '/v1/contacts/import',
    operationId: 'listJobs',
    summary: 'List imports',
    description:
      'Returns the client’s jobs without their chunks, newest first. A new job appears in this list shortly after the ' +
      '202 response. The path of the job works immediately. Send `next_cursor` as `cursor` to get older jobs: no job ' +
      'is listed twice. Unknown query parameters are errors.',
    permission: 'jobs:read',
    query: JobListQuery,
    headers: ReadHeaders,
    responses: { 200: { ...payload(JobListResponse, 'A page of jobs.', jobListExamples), headers: responseHeaders } },
    errors: ['validation_failed', ...authenticated],
  },
  readJob: {
    method: 'GET',
    url: '/v1/contacts/import/:job_id',
    operationId: 'readJob',
    summary: 'Read the progress of an import',
    description:
      'Returns the job with its chunks. A job can be read as soon as its 202 response was sent. Poll until `status` is ' +
      '`completed` or `failed`. `chunks_pending` counts the chunks with status `pending` or `retrying`. The `ETag` ' +
      'changes if and only if the body changes. With `wait`, the request is a long poll: the service responds when the ' +
      'job’s `ETag` differs from `If-None-Match` (without that header: from the `ETag` at the start of the request), or ' +
      'after `wait` seconds. It responds immediately for a job that has ended. It can respond before `wait` seconds ' +
      'when too many requests are waiting.',
    permission: 'jobs:read',
    params: Type.Object({ job_id: Type.String({ ...Uuid, description: 'The `job_id` of the 202 response.' }) }),
    query: JobQuery,
    headers: ConditionalReadHeaders,
    responses: {
      200: {
        ...payload(JobResponse, 'The current state of the job.', jobExamples),
        headers: {
          ...responseHeaders,
          ETag: header('The entity tag (RFC 9110) of this body.', '"kq0VkzqWXDm7P1yHgBkR6w"'),
        },
      },
    },
    bodiless: { 304: 'The `ETag` of the job matches `If-None-Match`.' },
    errors: ['validation_failed', ...authenticated, 'job_not_found'],
  },
  readIdempotencyKey: {
    method: 'GET',
    url: '/v1/idempotency/:key',
    operationId: 'readIdempotencyKey',
    summary: 'Read the record of an idempotency key',
    description:
      'Returns the record of a key until the record expires. This request does not change `access_count` or ' +
      '`accessed_at`. While the first request is in progress, `original_status_code` and `original_response` are null.',
    permission: 'idempotency:read',
    params: Type.Object({ key: Type.String({ description: 'The value of the Idempotency-Key header.' }) }),
    headers: ReadHeaders,
    responses: {
      200: { ...payload(IdempotencyRecord, 'The record of the key.', idempotencyExamples), headers: responseHeaders },
    },
    errors: [...authenticated, 'idempotency_key_not_found'],
  },
  readLiveness: {
    method: 'GET',
    url: '/healthz',
    operationId: 'readLiveness',
    summary: 'Check liveness',
    description: 'Returns 200 while the process can handle requests. Does not check the database or the event log.',
    permission: null,
    responses: { 200: payload(LivenessResponse, 'The process is alive.', livenessExamples) },
    errors: [],
  },
  readReadiness: {
    method: 'GET',
    url: '/readyz',
    operationId: 'readReadiness',
    summary: 'Check readiness',
    description:
      'Checks the database and the event log. Returns within two seconds even when they do not respond. Returns 503 ' +
      'while the process is shutting down.',
    permission: null,
    responses: {
      200: payload(ReadinessResponse, 'Every dependency responds.', readyExamples),
      503: payload(
        ReadinessResponse,
        'A dependency does not respond, or the process is shutting down.',
        notReadyExamples,
      ),
    },
    errors: [],
  },
} as const satisfies Record<string, Contract>

export const contractList: readonly Contract[] = Object.values(contracts)
