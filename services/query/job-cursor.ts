import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { JobListing, JobPlace } from '#shared/ports/import-jobs.ts'

/** What a page belongs to: a cursor of another client or of another question is no cursor. */
export type CursorScope = Pick<JobListing, 'clientId' | 'status' | 'createdAfter'>

export type JobCursors = {
  write(scope: CursorScope, place: JobPlace): string
  /** Null for a text that `write` never gave for this scope. */
  read(scope: CursorScope, cursor: string): JobPlace | null
}

/**
 * Opaque places in a list, each with a mark made from the secret. Without one the mark still finds damaged and foreign
 * cursors; a forged one gains nothing, because jobs are looked up by client.
 */
export function createJobCursors({ secret }: { readonly secret: Uint8Array | null }): JobCursors {
  const key = createHash('sha256')
    .update('job cursors')
    .update(secret ?? new Uint8Array())
    .digest()

  function markOf({ clientId, status, createdAfter }: CursorScope, place: string): Buffer {
    const text = JSON.stringify([clientId, status, createdAfter, place])
    return createHmac('sha256', key).update(text).digest().subarray(0, 16)
  }

  return {
    write(scope, { createdAt, jobId }) {
      const place = Buffer.from(JSON.stringify([createdAt, jobId])).toString('base64url')
      return `${place}.${markOf(scope, place).toString('base64url')}`
    },
    read(scope, cursor) {
      const [place = '', mark = '', ...rest] = cursor.split('.')
      const given = Buffer.from(mark, 'base64url')
      const expected = markOf(scope, place)
      const isOurs = given.length === expected.length && timingSafeEqual(given, expected) && rest.length === 0
      // base64url has several spellings of the same bytes; only the one that was given out counts.
      if (!isOurs || given.toString('base64url') !== mark) return null
      const [createdAt, jobId]: string[] = JSON.parse(Buffer.from(place, 'base64url').toString())
      return createdAt === undefined || jobId === undefined ? null : { createdAt, jobId }
    },
  }
}
