import { totalmem } from 'node:os'
import { finished } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '#shared/errors/service-error.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Rejects requests with 503 until `serve` is called, because the process is starting. */
    hold(): void
    serve(): void
    isHeld(): boolean
    /** Rejects new requests with 503. Resolves when all open requests have ended. */
    drain(): Promise<void>
    /** Calls the listener once when draining starts, so that long polls can end immediately. */
    onDrain(listener: () => void): void
  }
}

type Exempt = (request: FastifyRequest) => boolean

/**
 * Adds `hold` and graceful shutdown. During draining, the port stays open: new requests get a 503 and not a refused
 * connection, and every response closes its connection. Exempt requests are served, and draining does not wait for them.
 */
export function addDraining(app: FastifyInstance, { exempt }: { readonly exempt: Exempt }): void {
  let phase: 'held' | 'serving' | 'draining' = 'serving'
  let openRequests = 0
  const idle = Promise.withResolvers<void>()
  const listeners: (() => void)[] = []
  const startDraining = () => {
    phase = 'draining'
    for (const listener of listeners.splice(0)) listener()
    if (openRequests === 0) idle.resolve()
  }

  app.decorate('hold', () => {
    phase = 'held'
  })
  app.decorate('serve', () => {
    phase = 'serving'
  })
  app.decorate('isHeld', () => phase === 'held')
  app.decorate('drain', () => {
    startDraining()
    return idle.promise
  })
  app.decorate('onDrain', (listener: () => void) => {
    listeners.push(listener)
  })
  app.addHook('preClose', async () => startDraining())
  app.addHook('onRequest', async (request, reply) => {
    if (exempt(request)) return
    if (phase !== 'serving') throw new ServiceError('service_unavailable')
    openRequests += 1
    finished(reply.raw, () => {
      openRequests -= 1
      if (phase === 'draining' && openRequests === 0) idle.resolve()
    })
  })
  app.addHook('onSend', async (_request, reply) => {
    if (phase === 'draining') reply.header('connection', 'close')
  })
}

export type OverloadLimits = {
  readonly eventLoopDelayMs: number // mean over the last second
  readonly heapBytes: number
  readonly residentBytes: number
}

/** Far above the load of a healthy process. Respects the memory limit of a container. */
const defaultLimits = (): OverloadLimits => ({
  eventLoopDelayMs: 1_000,
  heapBytes: 0.9 * getHeapStatistics().heap_size_limit,
  residentBytes: 0.9 * Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
})

const retryAfterSeconds = 2 // longer than the sampling interval of the load, 1 s

type OverloadOptions = { readonly exempt: Exempt; readonly limits?: Partial<OverloadLimits> | undefined }

/** Rejects requests with 503 and Retry-After while the process is overloaded. Their bodies are not read. */
export async function addOverloadGuard(app: FastifyInstance, { exempt, limits }: OverloadOptions): Promise<void> {
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
