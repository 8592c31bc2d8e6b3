import { Transform } from 'node:stream'
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

/** The bytes that one request holds. */
export type HeldBytes = {
  /** Throws `service_unavailable` if the budget does not allow the bytes. */
  add(bytes: number): void
  /** Holds this number of bytes instead. Returns false if the budget does not allow the bytes. */
  replace(bytes: number): boolean
}

const refusal = () => new ServiceError('service_unavailable', { retryAfterSeconds })

/** Reserves the bytes of the body, as Content-Length declares them, until the response has been written. */
export function holdBody(reservation: ByteReservation, request: FastifyRequest, reply: FastifyReply): HeldBytes {
  reply.raw.once('close', reservation.release)
  const add = (bytes: number): void => {
    if (!reservation.add(bytes)) throw refusal()
  }
  add(Number(request.headers['content-length'] ?? 0))
  return { add, replace: reservation.replace }
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
  // Fastify does not listen any more after it has rejected the body, and an error without a listener ends the process.
  counted.on('error', () => {})
  payload.on('error', (error) => counted.destroy(error)) // `pipe` does not forward errors
  return payload.pipe(counted)
}

/** Reserves a large response in place of the body, which is not needed any more. Returns the error if this fails. */
export function holdResponse(held: HeldBytes, payload: unknown): ServiceError | null {
  const bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : sizeOf(payload)
  return bytes <= smallResponseBytes || held.replace(bytes) ? null : refusal()
}

const sizeOf = (payload: unknown): number => (payload instanceof Uint8Array ? payload.byteLength : 0)
