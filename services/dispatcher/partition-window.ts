/** One record of `contact-import.imports` that was read and is not committed yet. */
type Slot = { readonly offset: number; readonly bytes: number; done: boolean }

export type WindowLimits = {
  readonly offsets: number
  /** Asked anew each time: other windows may come to need room. */
  readonly bytes: () => number
}

/** Bytes of all windows of a process together, and of one of them. */
export type ByteBudget = { readonly all: number; readonly least: number; readonly most: number }

/** What one window may hold when so many hold anything: the fewer, the more, so that a lone large import is not slower. */
export const shareOf = ({ all, least, most }: ByteBudget, windows: number): number =>
  Math.min(most, Math.max(least, all / Math.max(1, windows)))

/** Pause at 80 % of either limit and resume at 50 %, so that a full window does not flutter. */
const pauseShare = 0.8
const resumeShare = 0.5

/**
 * The records of one partition between the committed offset and the last one read. Work may end in any order; only a
 * prefix that is done without a gap may be committed. What is done costs no bytes any more, only its place.
 */
export type PartitionWindow = {
  /** Takes the next record; offsets must ascend. Each is undone until `done` says otherwise. */
  add(offset: number, bytes: number): void
  done(offset: number): void
  /** The offset to commit: everything below it is done. */
  lowWaterMark(): number
  /** The offset after the last record taken: where reading goes on. */
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

  /** A Map keeps insertion order, so the first slot is always the lowest offset. */
  const dropDonePrefix = (): void => {
    for (const slot of slots.values()) {
      if (!slot.done) return
      slots.delete(slot.offset)
    }
  }

  const share = (): number => Math.max(slots.size / limits.offsets, bytes / limits.bytes())

  return {
    add(offset, size) {
      if (offset < next) throw new RangeError(`offset ${offset} was taken before; the next one is ${next}`)
      slots.set(offset, { offset, bytes: size, done: false })
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
    nextOffset: () => next,
    isFull: () => share() >= pauseShare,
    hasRoom: () => share() <= resumeShare,
    undone: () => undone,
  }
}
