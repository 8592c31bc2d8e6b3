import type { Instant } from '#shared/ports/clock.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { ReadMark, RecordMark } from '#shared/ports/subscription.ts'
import type { Chunk } from '../chunk.ts'
import type { CommitNeeds } from './commit-metadata.ts'
import type { Start } from './find-start.ts'
import type { FoldedDeliveries } from './fold-deliveries.ts'
import type { PartitionChunks, Repeat, UnreadableRecord } from './partition-chunks.ts'
import type { WindowLimits } from './partition-window.ts'

type Positioned = {
  readonly committedOffset: number
  /** The record below the committed offset of the start. Null when it is unknown. */
  readonly before: RecordMark | null
  /** See `Start`; then the last repeat that this process appended. */
  readonly needs: RecordMark | null
  /** See `Start`. */
  readonly rereadTo: number | null
  /** The last record received; before the first one, the record below the start. */
  readonly lastRead: ReadMark | null
  /** The offset after the last record received. */
  readonly nextOffset: number
  readonly paused: boolean
  /** While the circuit breaker is open, reading is paused. */
  readonly breakerOpen: boolean
  /** Calls of other processes may run until the monotonic clock shows this time. */
  readonly formerCallsEndAtMs: number
}

type Buffering = Positioned & { readonly firstRecord: LogRecord; readonly buffer: readonly LogRecord[] }

/**
 * One partition of `contact-import.imports` that is assigned to this member:
 * - awaitingRecords: recovery needs the append time of the first record
 * - waitingForFormerCalls: calls of former owners may still run, so recovery could miss their outcomes
 * - announcing: commits the metadata `open`, so that the next owner waits for running calls
 */
export type PartitionState =
  | { readonly is: 'opening'; readonly breakerOpen: boolean }
  | (Positioned & { readonly is: 'awaitingRecords' })
  | (Buffering & { readonly is: 'waitingForFormerCalls'; readonly startedAtMs: number })
  | (Buffering & { readonly is: 'announcing'; readonly startedAtMs: number })
  | (Buffering & { readonly is: 'recovering'; readonly waitedMs: number; readonly foldStartedAtMs: number })
  | (Positioned & {
      readonly is: 'running'
      readonly chunks: PartitionChunks
      /** Records that wait until all repeats and dead letters of earlier records are done. */
      readonly buffer: readonly LogRecord[]
      /** Repeats whose deliveries are being folded. */
      readonly repeats: readonly Repeat[]
      /** Unreadable records that are being appended to the dead letters. */
      readonly deadLetters: number
      /** The window reached its upper limit and has not fallen to its lower limit since. */
      readonly full: boolean
    })
  | (Positioned & { readonly is: 'draining'; readonly chunks: PartitionChunks | null })
  /** Another member owns the partition, or the process stopped before the committed offset was known. */
  | { readonly is: 'lost' }

export type StateOf<Name extends PartitionState['is']> = Extract<PartitionState, { is: Name }>
export type PositionedState = Exclude<PartitionState, { is: 'opening' | 'lost' }>

export const initialPartitionState = (breakerOpen: boolean): PartitionState => ({ is: 'opening', breakerOpen })

export type PartitionInput =
  | ({ readonly is: 'positionFound' } & Omit<Start, 'fault'>)
  | { readonly is: 'recordsReceived'; readonly records: readonly LogRecord[] }
  /** Calls that this process made during an earlier ownership of the partition have ended. */
  | { readonly is: 'ownCallsEnded' }
  | { readonly is: 'waited' }
  | { readonly is: 'announced' }
  | { readonly is: 'announcementFailed' }
  | { readonly is: 'deliveriesFolded'; readonly folded: FoldedDeliveries }
  | { readonly is: 'foldFailed' }
  | { readonly is: 'progressCommitted'; readonly offset: number }
  | { readonly is: 'chunkResolved'; readonly chunk: Chunk }
  /** `stored` is false when the process stopped first. */
  | { readonly is: 'deadLetterEnded'; readonly offset: number; readonly stored: boolean }
  | { readonly is: 'breakerChecked'; readonly open: boolean }
  | { readonly is: 'replanDue' }
  | { readonly is: 'waitCancelled'; readonly chunk: Chunk }
  /** `repeat` is null when the repeat may or may not be in the log. */
  | { readonly is: 'replanEnded'; readonly chunk: Chunk; readonly repeat: RecordMark | null }
  /** The member kept the partition in a rebalance. The partition must be opened again at its next offset. */
  | { readonly is: 'kept' }
  | { readonly is: 'drain' }
  | { readonly is: 'lose' }

export type PartitionEffect =
  | { readonly do: 'readFrom'; readonly offset: number }
  | { readonly do: 'pause' }
  | { readonly do: 'resume' }
  | { readonly do: 'awaitOwnCalls' }
  | { readonly do: 'wait'; readonly ms: number }
  | ({ readonly do: 'announce'; readonly offset: number } & CommitNeeds)
  | { readonly do: 'fold'; readonly since: Instant; readonly fromOffset: number }
  | { readonly do: 'foldRepeats'; readonly repeats: readonly Repeat[] }
  | {
      readonly do: 'reportRecovery'
      readonly offset: number
      readonly chunks: number
      readonly waitedMs: number
      readonly foldMs: number
    }
  | { readonly do: 'schedule'; readonly chunk: Chunk }
  | { readonly do: 'cancel'; readonly chunks: Iterable<Chunk> }
  | { readonly do: 'cancelWait'; readonly chunk: Chunk }
  | { readonly do: 'replan'; readonly chunk: Chunk }
  | { readonly do: 'storeDeadLetter'; readonly unreadable: UnreadableRecord }

export type Transition = { readonly state: PartitionState; readonly effects: readonly PartitionEffect[] }

export type PartitionContext = {
  readonly now: Instant
  /** Of the monotonic clock. */
  readonly elapsedMs: number
  readonly self: string
  readonly limits: WindowLimits
  readonly lateOriginalMs: number
}
