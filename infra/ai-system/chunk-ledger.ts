import { createHash } from 'node:crypto'

export type ChunkCount = {
  readonly key: string
  readonly job_id: string
  readonly chunk_index: number
  readonly size: number
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

function createRows() {
  let cells = new Uint32Array(columns * 1024)
  const get = (row: number, column: number): number => cells[row * columns + column] ?? 0
  const set = (row: number, column: number, value: number): void => {
    if ((row + 1) * columns > cells.length) {
      const wider = new Uint32Array(cells.length * 2)
      wider.set(cells)
      cells = wider
    }
    cells[row * columns + column] = value
  }
  return {
    get,
    set,
    increment(row: number, column: number): number {
      set(row, column, get(row, column) + 1)
      return get(row, column)
    },
    id: (row: number, column: number): readonly number[] => [0, 1, 2, 3].map((word) => get(row, column + word)),
  }
}

/** Maps keys to rows: a hash table with linear probing, at most half full. */
function createIndex(table: Pick<ReturnType<typeof createRows>, 'get' | 'id'>) {
  let slots = new Int32Array(2048).fill(-1)
  let rows = 0
  function slotOf(key: readonly number[]): number {
    const mask = slots.length - 1
    let slot = key.reduce((hash, word) => Math.imul(hash ^ word, 0x9e3779b1) >>> 0, 0) & mask
    for (;;) {
      const row = slots[slot] ?? -1
      if (row === -1 || key.every((word, column) => table.get(row, column) === word)) return slot
      slot = (slot + 1) & mask
    }
  }
  return {
    rowOf: (key: readonly number[]): number => slots[slotOf(key)] ?? -1,
    add(key: readonly number[]): number {
      if ((rows + 1) * 2 > slots.length) {
        slots = new Int32Array(slots.length * 2).fill(-1)
        for (let row = 0; row < rows; row++) slots[slotOf(table.id(row, 0))] = row
      }
      slots[slotOf(key)] = rows
      return rows++
    },
    rows: () => rows,
  }
}

/** Converts ids to four numbers each. An id that is not a lower-case UUID is represented by its SHA-256. */
function createIds() {
  const texts = new Map<string, string>()
  const hexOf = (id: string): string =>
    uuid.test(id) ? id.replaceAll('-', '') : createHash('sha256').update(id).digest('hex').slice(0, 32)
  return {
    numbersOf(id: string): readonly number[] {
      const hex = hexOf(id)
      return [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16))
    },
    /** Stores the text of an id that is not a UUID, because a hash cannot be reversed. */
    keep(id: string): void {
      if (!uuid.test(id)) texts.set(hexOf(id), id)
    },
    textOf(numbers: readonly number[]): string {
      const hex = numbers.map((word) => word.toString(16).padStart(8, '0')).join('')
      return texts.get(hex) ?? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    },
  }
}

/**
 * Counts requests and deliveries by key. Uses 56 bytes per chunk, so that millions of chunks fit into memory. After
 * `limit` chunks, `entryOf` returns `untracked` for new chunks.
 */
export function createChunkLedger(limit = 4_000_000) {
  const rows = createRows()
  const index = createIndex(rows)
  const ids = createIds()
  const keyOf = (entry: number): string => ids.textOf(rows.id(entry, 0))

  return {
    entryOf({ key, jobId, chunkIndex, size }: ChunkIdentity): number {
      const keyNumbers = ids.numbersOf(key)
      const known = index.rowOf(keyNumbers)
      if (known !== -1) return known
      if (index.rows() >= limit) return untracked
      const entry = index.add(keyNumbers)
      for (const [column, word] of [...keyNumbers, ...ids.numbersOf(jobId)].entries()) rows.set(entry, column, word)
      ids.keep(key)
      ids.keep(jobId)
      rows.set(entry, field.chunkIndex, chunkIndex)
      rows.set(entry, field.size, size)
      return entry
    },
    requested: (entry: number): number => rows.increment(entry, field.requests),
    delivered: (entry: number): number => rows.increment(entry, field.delivered),
    *counts(): Generator<ChunkCount> {
      for (let entry = 0; entry < index.rows(); entry++) {
        yield {
          key: keyOf(entry),
          job_id: ids.textOf(rows.id(entry, 4)),
          chunk_index: rows.get(entry, field.chunkIndex),
          size: rows.get(entry, field.size),
          requests: rows.get(entry, field.requests),
          delivered: rows.get(entry, field.delivered),
        }
      }
    },
    repeatedKeys(most: number): readonly string[] {
      const keys: string[] = []
      for (let entry = 0; entry < index.rows() && keys.length < most; entry++) {
        if (rows.get(entry, field.delivered) > 1) keys.push(keyOf(entry))
      }
      return keys
    },
  }
}

export type ChunkLedger = ReturnType<typeof createChunkLedger>
