import type { Fault } from '#schemas/errors.ts'
import { type JobStatus, jobLimits, jobStatuses } from '#schemas/http/job.ts'
import { isTimestamp, type Timestamp } from '#schemas/primitives.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

/** As Fastify parses a URL: a repeated parameter is an array. */
export type Parameters = Readonly<Record<string, unknown>>

export type ListParameters = {
  readonly status: JobStatus | null
  readonly createdAfter: Timestamp | null
  readonly limit: number
  readonly cursor: string | null
}

const listParameters = ['status', 'created_after', 'limit', 'cursor']

/** Throws `validation_failed` with every fault: a parameter that is mistyped must not give another list. */
export function readListParameters(given: Parameters): ListParameters {
  const faults: Fault[] = Object.keys(given)
    .filter((name) => !listParameters.includes(name))
    .map((name) => ({ pointer: pointerTo(name), code: 'unknown_field' }))
  const refuse = (name: string): null => {
    faults.push({ pointer: pointerTo(name), code: 'invalid_format' })
    return null
  }
  const text = (name: string): string | null => {
    const value = given[name] ?? null
    return typeof value === 'string' || value === null ? value : refuse(name)
  }
  const status = text('status')
  const known = jobStatuses.find((one) => one === status) ?? null
  if (status !== null && known === null) refuse('status')
  const createdAfter = text('created_after')
  const isMoment = createdAfter === null || isTimestamp(createdAfter)
  if (!isMoment) refuse('created_after')
  const limit = wholeNumber(text('limit') ?? String(jobLimits.listed.default), 1, jobLimits.listed.most)
  if (limit === null) refuse('limit')
  const cursor = text('cursor')
  if (faults.length > 0 || limit === null) throw new ServiceError('validation_failed', { details: faults })
  // In the form that jobs are stored with, in which later moments are greater texts.
  return { status: known, createdAfter: createdAfter && new Date(createdAfter).toISOString(), limit, cursor }
}

/** Seconds; 0 when absent. Throws `validation_failed`. */
export function readWait({ wait = '0' }: Parameters): number {
  const seconds = typeof wait === 'string' ? wholeNumber(wait, 0, jobLimits.waitSeconds) : null
  if (seconds === null) throw refusalOf('wait')
  return seconds
}

/** `validation_failed` for this parameter alone. */
export const refusalOf = (name: string): ServiceError =>
  new ServiceError('validation_failed', { details: [{ pointer: pointerTo(name), code: 'invalid_format' }] })

const pointerTo = (name: string): string => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

function wholeNumber(text: string, least: number, most: number): number | null {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return number >= least && number <= most ? number : null
}
