import type { Fault } from '#schemas/errors.ts'
import { JobListQuery, type JobStatus, jobLimits, jobStatuses } from '#schemas/http/job.ts'
import { isTimestamp, type Timestamp } from '#schemas/primitives.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

type Parameters = Readonly<Record<string, unknown>> // a repeated parameter is an array

export type ListParameters = {
  readonly status: JobStatus | null
  readonly createdAfter: Timestamp | null
  readonly limit: number
  readonly cursor: string | null
}

/** Throws `validation_failed` with all faults. An unknown parameter is a fault: ignoring a typo would drop a filter. */
export function readListParameters(query: Parameters): ListParameters {
  const faults: Fault[] = Object.keys(query)
    .filter((name) => !Object.hasOwn(JobListQuery.properties, name))
    .map((name) => ({ pointer: pointerTo(name), code: 'unknown_field' }))
  const reject = (name: string): null => {
    faults.push({ pointer: pointerTo(name), code: 'invalid_format' })
    return null
  }
  const text = (name: keyof typeof JobListQuery.properties): string | null => {
    const value = query[name] ?? null
    return typeof value === 'string' || value === null ? value : reject(name)
  }
  const statusText = text('status')
  const status = jobStatuses.find((one) => one === statusText) ?? null
  if (statusText !== null && status === null) reject('status')
  const createdAfter = text('created_after')
  if (createdAfter !== null && !isTimestamp(createdAfter)) reject('created_after')
  const limit = wholeNumber(text('limit') ?? String(jobLimits.listed.default), 1, jobLimits.listed.most)
  if (limit === null) reject('limit')
  const cursor = text('cursor')
  if (faults.length > 0 || limit === null) throw new ServiceError('validation_failed', { details: faults })
  // MongoDB compares `created_at` as strings, so convert the time to the stored format: UTC with milliseconds.
  return { status, createdAfter: createdAfter && new Date(createdAfter).toISOString(), limit, cursor }
}

/** Returns seconds; 0 if `wait` is absent. Throws `validation_failed`. */
export function readWait({ wait = '0' }: Parameters): number {
  const seconds = typeof wait === 'string' ? wholeNumber(wait, 0, jobLimits.waitSeconds) : null
  if (seconds === null) throw parameterInvalid('wait')
  return seconds
}

export const parameterInvalid = (name: string): ServiceError =>
  new ServiceError('validation_failed', { details: [{ pointer: pointerTo(name), code: 'invalid_format' }] })

const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

function wholeNumber(text: string, min: number, max: number): number | null {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return number >= min && number <= max ? number : null
}
