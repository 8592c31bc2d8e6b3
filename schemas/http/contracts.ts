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

/** What an API client can be permitted to do. */
export const permissions = ['contacts:import', 'jobs:read', 'idempotency:read'] as const
export type Permission = (typeof permissions)[number]

/** A body: what it is, its shape, and examples of it. */
export type Payload = { readonly description: string; readonly schema: TSchema; readonly examples: Examples }
type Headers = Readonly<Record<string, TSchema>>

/** One endpoint: all that a route, the OpenAPI document and a client need to know of it. */
export type Contract = {
  readonly method: 'GET' | 'POST'
  /** The path as fastify writes it: `/v1/contacts/import/:job_id`. */
  readonly url: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  /** The permission that the API client needs; null when the endpoint requires no API key. */
  readonly permission: Permission | null
  readonly params?: TObject
  /** All of it text, as it stands in the URL. */
  readonly query?: TObject
  /** Names in lower case, as Node gives them. `Authorization` follows from `permission`. */
  readonly headers?: TObject
  readonly body?: Payload
  /** The answers that are not errors, by status. */
  readonly responses: Readonly<Record<number, Payload & { readonly headers?: Headers }>>
  /** The answers without a body, by status: what they say. */
  readonly bodiless?: Readonly<Record<number, string>>
  /** The errors it may answer beside those of `everywhere`. */
  readonly errors: readonly ErrorCode[]
}

/** What may be answered to any request, before a route is even known. */
export const everywhere = [
  'bad_request',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
  'internal_error',
] as const satisfies readonly ErrorCode[]

/** Ties the examples to the schema, so that the compiler checks them too. */
const payload = <S extends TSchema, E extends Examples<Static<S>>>(schema: S, description: string, examples: E) => ({
  schema,
  description,
  examples,
})

const header = (description: string, example: string) => Type.String({ description, examples: [example] })

const correlation = header('Of this request: echoed, or generated (UUID v4).', '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34')
/** Of every answer to a client that is known, errors included. */
export const quotaHeaders = {
  'RateLimit-Policy': header(
    'The client’s quota in requests (`q`) per window in seconds (`w`); absent when it is unlimited, and before the client is known.',
    '"client";q=10;w=1',
  ),
  RateLimit: header(
    'What remains (`r`) and in how many seconds the window renews (`t`); absent as its policy is.',
    '"client";r=9;t=1',
  ),
}
const answerHeaders = {
  'X-Correlation-ID': correlation,
  ...quotaHeaders,
  'Cache-Control': header('Never cached.', 'no-store'),
}

const languageHeader = Type.Optional(Type.String({ description: 'Language of texts for people: `en` or `ru`.' }))
const ReadHeaders = Type.Object({
  'x-correlation-id': ImportHeaders.properties['x-correlation-id'],
  'accept-language': languageHeader,
})
const ConditionalReadHeaders = Type.Object({
  ...ReadHeaders.properties,
  'if-none-match': Type.Optional(Type.String({ description: 'The `ETag` of the answer that is known already.' })),
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

/** Every endpoint of the service. Routes are registered from here, and the OpenAPI document derives from it alone. */
export const contracts = {
  importContacts: {
    method: 'POST',
    url: '/v1/contacts/import',
    operationId: 'importContacts',
    summary: 'Import contacts',
    description:
      'Takes one contact or an array of them, normalizes the phones and delivers the valid contacts to the AI system ' +
      'in chunks. A 202 means that the import is stored durably. Repeating the request with the same key and the same ' +
      'bytes gives the first answer again, byte for byte. A contact without a valid phone is counted, not refused. ' +
      'With `X-Debug: true` everything is checked and planned, and nothing is stored or sent.',
    permission: 'contacts:import',
    headers: WriteHeaders,
    body: payload(ImportBody, 'One contact object, or an array of them.', importBodyExamples),
    responses: {
      200: {
        ...payload(
          DryRunResponse,
          'Dry run (`X-Debug: true`): what would have been sent; nothing was.',
          dryRunExamples,
        ),
        headers: answerHeaders,
      },
      202: {
        ...payload(ImportAcceptedResponse, 'The import is stored and will be delivered.', acceptedExamples),
        headers: {
          ...answerHeaders,
          Location: header('Where the job is read.', '/v1/contacts/import/0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b'),
          'Idempotent-Replayed': header('`true` on a replay; absent on the first answer.', 'true'),
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
      'The client’s jobs without their chunks, newest first. An import appears here within moments of its 202; by its ' +
      'id it can be read at once. Follow `next_cursor` for older ones: a job is never listed twice. A parameter that ' +
      'the interface does not know is refused.',
    permission: 'jobs:read',
    query: JobListQuery,
    headers: ReadHeaders,
    responses: { 200: { ...payload(JobListResponse, 'A page of jobs.', jobListExamples), headers: answerHeaders } },
    errors: ['validation_failed', ...authenticated],
  },
  readJob: {
    method: 'GET',
    url: '/v1/contacts/import/:job_id',
    operationId: 'readJob',
    summary: 'Read the progress of an import',
    description:
      'The job with each of its chunks. It can be read from the moment its 202 was sent; poll until `status` is ' +
      '`completed` or `failed`. Chunks with status `pending` or `retrying` are counted in `chunks_pending`. ' +
      'The `ETag` changes exactly when the body does. With `wait` the answer comes when the job is no longer as ' +
      '`If-None-Match` says or, without it, as it was when the request came; and at the latest after that many ' +
      'seconds, at once for a job that has ended, and early when too many wait already.',
    permission: 'jobs:read',
    params: Type.Object({ job_id: Type.String({ ...Uuid, description: 'From the 202 answer.' }) }),
    query: JobQuery,
    headers: ConditionalReadHeaders,
    responses: {
      200: {
        ...payload(JobResponse, 'The job as it stands now.', jobExamples),
        headers: { ...answerHeaders, ETag: header('Of this body.', '"kq0VkzqWXDm7P1yHgBkR6w"') },
      },
    },
    bodiless: { 304: 'The job is as `If-None-Match` says.' },
    errors: ['validation_failed', ...authenticated, 'job_not_found'],
  },
  readIdempotencyKey: {
    method: 'GET',
    url: '/v1/idempotency/:key',
    operationId: 'readIdempotencyKey',
    summary: 'Read what an idempotency key was answered',
    description:
      'The record of a key until it expires. Reading it is not an access: it changes neither `access_count` nor ' +
      '`accessed_at`. While the first request is still being processed the `original_…` members are null.',
    permission: 'idempotency:read',
    params: Type.Object({ key: Type.String({ description: 'The value of the Idempotency-Key header.' }) }),
    headers: ReadHeaders,
    responses: {
      200: { ...payload(IdempotencyRecord, 'The record of the key.', idempotencyExamples), headers: answerHeaders },
    },
    errors: [...authenticated, 'idempotency_key_not_found'],
  },
  readLiveness: {
    method: 'GET',
    url: '/healthz',
    operationId: 'readLiveness',
    summary: 'Is the process alive',
    description: 'Answers as long as the process can answer at all; looks at no dependency.',
    permission: null,
    responses: { 200: payload(LivenessResponse, 'It is.', livenessExamples) },
    errors: [],
  },
  readReadiness: {
    method: 'GET',
    url: '/readyz',
    operationId: 'readReadiness',
    summary: 'Can the process do its work',
    description:
      'Looks at the database and the event log, and answers within two seconds whatever they do. Not ready while the ' +
      'process is shutting down.',
    permission: null,
    responses: {
      200: payload(ReadinessResponse, 'Every dependency answers.', readyExamples),
      503: payload(
        ReadinessResponse,
        'A dependency does not answer, or the process is shutting down.',
        notReadyExamples,
      ),
    },
    errors: [],
  },
} as const satisfies Record<string, Contract>

export type OperationId = keyof typeof contracts

/** The contracts in the order of the table above, for whoever treats them all alike. */
export const contractList: readonly Contract[] = Object.values(contracts)
