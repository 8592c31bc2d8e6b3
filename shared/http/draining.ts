import { finished } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ServiceError } from '#shared/errors/service-error.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** From now on new requests are refused with 503; resolves when all that were under way have ended. */
    drain(): Promise<void>
    /** Called once when that begins: whoever lets requests wait answers them now. */
    onDrain(listener: () => void): void
  }
}

type Options = { readonly exempt: (request: FastifyRequest) => boolean }

/**
 * Lets an app end in order. The listener stays open while requests are under way, so that a client is told 503 and not
 * cut off; those that are exempt are neither refused nor waited for. Every connection ends with its next answer.
 */
export function addDraining(app: FastifyInstance, { exempt }: Options): void {
  let draining = false
  let underWay = 0
  const idle = Promise.withResolvers<void>()
  const listeners: (() => void)[] = []
  const refuseNew = () => {
    draining = true
    for (const listener of listeners.splice(0)) listener()
    if (underWay === 0) idle.resolve()
  }

  app.decorate('drain', () => {
    refuseNew()
    return idle.promise
  })
  app.decorate('onDrain', (listener: () => void) => {
    listeners.push(listener)
  })
  app.addHook('preClose', async () => refuseNew())
  app.addHook('onRequest', async (request, reply) => {
    if (exempt(request)) return
    if (draining) throw new ServiceError('service_unavailable')
    underWay += 1
    finished(reply.raw, () => {
      underWay -= 1
      if (draining && underWay === 0) idle.resolve()
    })
  })
  app.addHook('onSend', async (_request, reply) => {
    if (draining) reply.header('connection', 'close') // kept alive it would hold the process until it is cut
  })
}
