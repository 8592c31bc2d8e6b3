import type { RecordMark } from '#shared/ports/subscription.ts'

type Slot = RecordMark & { readonly bytes: number; done: boolean }

export type WindowLimits = {
  readonly offsets: number
  /** A function, because the limit depends on how many partitions hold records. */
  readonly bytes: () => number
}

/** `all`: for all windows of a process together. `least` and `most`: the bounds for one window. */
export type ByteBudget = { readonly all: number; readonly least: number; readonly most: number }

/** The byte limit of one window when `windows` windows hold records. */
export const shareOf = ({ all, least, most }: ByteBudget, windows: number): number =>
  Math.min(most, Math.max(least, all / Math.max(1, windows)))

/** Two thresholds, so that reading does not pause and resume in quick succession. */
const pauseShare = 0.8
const resumeShare = 0.5

/**
 * The records of one partition from the low-water mark to the last record read. Records are done in any order. A done
 * record above the low-water mark counts towards the limit of offsets, but not towards the limit of bytes.
 */
export type PartitionWindow = {
  /** Adds the next record. Throws `RangeError` unless offsets ascend. */
  add(record: RecordMark, bytes: number): void
  done(offset: number): void
  /** The offset to commit: every record below it is done. */
  lowWaterMark(): number
  /** The last record below the low-water mark; null before the first record is done. */
  lastDone(): RecordMark | null
  nextOffset(): number
  isFull(): boolean
  hasRoom(): boolean
  undone(): number
}

export function createPartitionWindow(firstOffset: number, limits: WindowLimits): PartitionWindow {
  const slots = new Map<number, Slot>()
  let next = firstOffset
  let bytes = 0
  let undone = 0
  let lastDone: RecordMark | null = null

  /** A Map keeps insertion order, so the first slot always has the lowest offset. */
  const dropDonePrefix = (): void => {
    for (const slot of slots.values()) {
      if (!slot.done) return
      slots.delete(slot.offset)
      lastDone = { offset: slot.offset, appendedAt: slot.appendedAt }
    }
  }

  const usedShare = (): number => Math.max(slots.size / limits.offsets, bytes / limits.bytes())

  return {
    add({ offset, appendedAt }, size) {
      if (offset < next) throw new RangeError(`Offset ${offset} is below the next offset ${next}.`)
      slots.set(offset, { offset, appendedAt, bytes: size, done: false })
      bytes += size
      undone += 1
      next = offset + 1
    },
    done(offset) {
      const slot = slots.get(offset)
      if (slot === undefined || slot.done) return
      slot.done = true
      undone -= 1
      bytes -= slot.bytes
      dropDonePrefix()
    },
    lowWaterMark() {
      const first = slots.values().next()
      return first.done ? next : first.value.offset
    },
    lastDone: () => lastDone,
    nextOffset: () => next,
    isFull: () => usedShare() >= pauseShare,
    hasRoom: () => usedShare() <= resumeShare,
    undone: () => undone,
  }
}
