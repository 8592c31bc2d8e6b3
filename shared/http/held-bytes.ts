import { finished, Transform } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { ServiceError } from '#shared/errors/service-error.ts'
import type { ByteBudget, ByteReservation } from './byte-budget.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly byteBudget: ByteBudget
  }
}

const retryAfterSeconds = 1

/** Smaller responses fit into the buffers of the socket. */
const smallResponseBytes = 64 * 1024

/** The bytes that one request holds. The methods throw `service_unavailable` if the budget does not allow the bytes. */
export type HeldBytes = {
  add(bytes: number): void
  replace(bytes: number): void
}

const orThrow = (allowed: boolean): void => {
  if (!allowed) throw new ServiceError('service_unavailable', { retryAfterSeconds })
}

/** Reserves the bytes of the body, as Content-Length declares them, until the response has been written. */
export function holdBody(reservation: ByteReservation, request: FastifyRequest, reply: FastifyReply): HeldBytes {
  finished(reply.raw, () => reservation.release())
  const held: HeldBytes = {
    add: (bytes) => orThrow(reservation.add(bytes)),
    replace: (bytes) => orThrow(reservation.replace(bytes)),
  }
  held.add(Number(request.headers['content-length'] ?? 0))
  return held
}

/** Reserves the bytes of a chunked body as they arrive. Node checks Content-Length against the bytes of other bodies. */
export function holdChunks(held: HeldBytes, { headers }: FastifyRequest, payload: RequestPayload): RequestPayload {
  if (headers['transfer-encoding'] === undefined) return payload
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        held.add(chunk.byteLength)
        done(null, chunk)
      } catch (error) {
        done(error instanceof Error ? error : new Error('The bytes could not be reserved.', { cause: error }))
      }
    },
  })
  payload.on('error', (error) => counted.destroy(error)) // `pipe` does not forward errors
  return payload.pipe(counted)
}

/** Reserves the bytes of a large response in place of the body, which is not needed any more. */
export function holdResponse(held: HeldBytes, payload: unknown): void {
  const bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : sizeOf(payload)
  if (bytes > smallResponseBytes) held.replace(bytes)
}

const sizeOf = (payload: unknown): number => (payload instanceof Uint8Array ? payload.byteLength : 0)
