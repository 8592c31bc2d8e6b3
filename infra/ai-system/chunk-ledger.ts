import { createHash } from 'node:crypto'

export type ChunkCount = {
  readonly key: string
  readonly job_id: string
  readonly chunk_index: number
  readonly size: number
  /** Requests with this key, and those of them that were answered 2xx. */
  readonly requests: number
  readonly delivered: number
}

export type ChunkIdentity = {
  readonly key: string
  readonly jobId: string
  readonly chunkIndex: number
  readonly size: number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const columns = 12 // key 4, job 4, chunk index, size, requests, delivered
const field = { chunkIndex: 8, size: 9, requests: 10, delivered: 11 } as const
export const untracked = -1

/**
 * Counts by key in 56 bytes a chunk, so that millions of chunks fit: an open-addressing table over flat memory.
 * Keys and job ids that are no lower-case UUIDs are kept by their SHA-256 and written out as given. Beyond `limit`
 * chunks, new ones are not told apart any more: `entryOf` gives `untracked`.
 */
export function createChunkLedger(limit = 4_000_000) {
  let cells = new Uint32Array(columns * 1024)
  let slots = new Int32Array(2048).fill(-1)
  let entries = 0
  const names = new Map<string, string>()

  const cell = (entry: number, column: number): number => cells[entry * columns + column] ?? 0
  const set = (entry: number, column: number, value: number): void => {
    cells[entry * columns + column] = value
  }

  const hexOf = (text: string): string =>
    uuid.test(text) ? text.replaceAll('-', '') : createHash('sha256').update(text).digest('hex').slice(0, 32)

  const words = (text: string): readonly number[] => {
    const hex = hexOf(text)
    return [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16))
  }

  function name(entry: number, column: number): string {
    const hex = [0, 1, 2, 3]
      .map((word) =>
        cell(entry, column + word)
          .toString(16)
          .padStart(8, '0'),
      )
      .join('')
    return names.get(hex) ?? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }

  /** The slot that holds the key, or the free one where it belongs. */
  function slotOf(key: readonly number[]): number {
    const mask = slots.length - 1
    let slot = key.reduce((hash, word) => Math.imul(hash ^ word, 0x9e3779b1) >>> 0, 0) & mask
    for (;;) {
      const entry = slots[slot] ?? -1
      if (entry === -1 || key.every((word, index) => cell(entry, index) === word)) return slot
      slot = (slot + 1) & mask
    }
  }

  function grow(): void {
    const wider = new Uint32Array(cells.length * 2)
    wider.set(cells)
    cells = wider
    slots = new Int32Array(slots.length * 2).fill(-1)
    for (let entry = 0; entry < entries; entry++) {
      slots[slotOf([0, 1, 2, 3].map((word) => cell(entry, word)))] = entry
    }
  }

  return {
    /** The entry of the chunk, made if need be. */
    entryOf({ key, jobId, chunkIndex, size }: ChunkIdentity): number {
      const keyWords = words(key)
      const known = slots[slotOf(keyWords)] ?? -1
      if (known !== -1) return known
      if (entries >= limit) return untracked
      if ((entries + 1) * columns > cells.length) grow()
      const entry = entries++
      slots[slotOf(keyWords)] = entry
      for (const [index, word] of [...keyWords, ...words(jobId)].entries()) set(entry, index, word)
      for (const text of [key, jobId]) if (!uuid.test(text)) names.set(hexOf(text), text)
      set(entry, field.chunkIndex, chunkIndex)
      set(entry, field.size, size)
      return entry
    },
    /** Counts a request, and gives how many there have been. */
    requested(entry: number): number {
      set(entry, field.requests, cell(entry, field.requests) + 1)
      return cell(entry, field.requests)
    },
    delivered(entry: number): number {
      set(entry, field.delivered, cell(entry, field.delivered) + 1)
      return cell(entry, field.delivered)
    },
    *counts(): Generator<ChunkCount> {
      for (let entry = 0; entry < entries; entry++) {
        yield {
          key: name(entry, 0),
          job_id: name(entry, 4),
          chunk_index: cell(entry, field.chunkIndex),
          size: cell(entry, field.size),
          requests: cell(entry, field.requests),
          delivered: cell(entry, field.delivered),
        }
      }
    },
    /** The keys delivered more than once, the first `most` of them. */
    repeatedKeys(most: number): readonly string[] {
      const keys: string[] = []
      for (let entry = 0; entry < entries && keys.length < most; entry++) {
        if (cell(entry, field.delivered) > 1) keys.push(name(entry, 0))
      }
      return keys
    },
  }
}

export type ChunkLedger = ReturnType<typeof createChunkLedger>
