import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '#shared/errors/service-error.ts'

/** From which point on a process only makes things worse by taking more requests. */
export type OverloadLimits = {
  /** Mean over the last second, in milliseconds. */
  readonly eventLoopDelayMs: number
  readonly heapBytes: number
  readonly residentBytes: number
}

/** Far above what a healthy process under full load shows. A container's own memory limit counts, where it has one. */
const defaultLimits = (): OverloadLimits => ({
  eventLoopDelayMs: 1_000,
  heapBytes: 0.9 * getHeapStatistics().heap_size_limit,
  residentBytes: 0.9 * Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
})

type Options = {
  readonly exempt: (request: FastifyRequest) => boolean
  readonly limits?: Partial<OverloadLimits> | undefined
}

/** Seconds: pressure is measured once a second. */
const retryAfterSeconds = 2

/** Answers 503 with Retry-After while the process is overloaded, before anything of the request is looked at. */
export async function addOverloadGuard(app: FastifyInstance, { exempt, limits }: Options): Promise<void> {
  const { eventLoopDelayMs, heapBytes, residentBytes } = { ...defaultLimits(), ...limits }
  await app.register(underPressure, {
    maxEventLoopDelay: eventLoopDelayMs,
    maxHeapUsedBytes: heapBytes,
    maxRssBytes: residentBytes,
    pressureHandler: async (request) => {
      if (!exempt(request)) throw new ServiceError('service_unavailable', { retryAfterSeconds })
    },
  })
}
