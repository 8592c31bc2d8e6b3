import type { Instant } from '#shared/ports/clock.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import type { Chunk } from '../chunk.ts'
import type { CommitMetadata } from './commit-metadata.ts'
import type { FoldedDeliveries } from './fold-deliveries.ts'
import type { PartitionChunks, Repeat, UnreadableRecord } from './partition-chunks.ts'
import type { WindowLimits } from './partition-window.ts'

/** Facts of every state in which the committed offset is known. */
type Positioned = {
  readonly committedOffset: number
  /** The offset after the last record received. */
  readonly nextOffset: number
  readonly paused: boolean
  /** The AI system is not called, so no record is read. */
  readonly breakerOpen: boolean
  /** Until then calls of other processes may run. */
  readonly formerCallsEndAt: Instant
}

/** Records received before the partition runs. `firstRecord` is the first of `buffer`. */
type Buffering = Positioned & { readonly firstRecord: LogRecord; readonly buffer: readonly LogRecord[] }

/**
 * One partition of `contact-import.imports`, from its assignment to this member until another member gets it:
 * - opening: the committed offset is not known yet
 * - awaitingRecords: nothing was received yet; recovery needs the append time of the first record
 * - waitingForFormerCalls: calls of former owners may still run, so recovery could miss their outcomes
 * - announcing: commits the metadata `open`, so that the next owner waits for running calls
 * - recovering: folds the deliveries since the first record was appended
 * - running: sends chunks and commits the low-water mark
 * - draining: the process stops; running attempts end, none starts, nothing is read
 * - lost: the partition belongs to another member, or the process stopped before the offset was known
 */
export type PartitionState =
  | { readonly is: 'opening'; readonly breakerOpen: boolean }
  | (Positioned & { readonly is: 'awaitingRecords' })
  | (Buffering & { readonly is: 'waitingForFormerCalls'; readonly startedAt: Instant })
  | (Buffering & { readonly is: 'announcing'; readonly startedAt: Instant })
  | (Buffering & { readonly is: 'recovering'; readonly waitedMs: number; readonly foldStartedAt: Instant })
  | (Positioned & {
      readonly is: 'running'
      /** Changed in place; see `PartitionChunks`. */
      readonly chunks: PartitionChunks
      /** Received while records taken before them have unfinished work. */
      readonly buffer: readonly LogRecord[]
      /** Repeats whose deliveries are being folded. */
      readonly repeats: readonly Repeat[]
      /** Unreadable records that are being appended to the dead letters. */
      readonly deadLetters: number
      /** The window reached its upper limit and has not fallen to its lower limit since. */
      readonly full: boolean
    })
  | (Positioned & { readonly is: 'draining'; readonly chunks: PartitionChunks | null })
  | { readonly is: 'lost' }

export type StateOf<Name extends PartitionState['is']> = Extract<PartitionState, { is: Name }>
export type PositionedState = Exclude<PartitionState, { is: 'opening' | 'lost' }>

export const initialPartitionState = (breakerOpen: boolean): PartitionState => ({ is: 'opening', breakerOpen })

export type PartitionInput =
  /** `metadata` is null when the group has no committed offset for the partition. */
  | { readonly is: 'positionFound'; readonly offset: number; readonly metadata: CommitMetadata | null }
  | { readonly is: 'recordsReceived'; readonly records: readonly LogRecord[] }
  /** The calls that this process made when it owned the partition before have ended. */
  | { readonly is: 'ownCallsEnded' }
  /** The time of the effect `wait` has passed. */
  | { readonly is: 'waited' }
  | { readonly is: 'announced' }
  | { readonly is: 'announcementFailed' }
  | { readonly is: 'deliveriesFolded'; readonly folded: FoldedDeliveries }
  | { readonly is: 'foldFailed' }
  /** Kafka acknowledged the commit of this offset. */
  | { readonly is: 'progressCommitted'; readonly offset: number }
  /** The log holds the chunk's final outcome. */
  | { readonly is: 'chunkResolved'; readonly chunk: Chunk }
  /** `stored` is false when the process stopped first. */
  | { readonly is: 'deadLetterEnded'; readonly offset: number; readonly stored: boolean }
  | { readonly is: 'breakerChecked'; readonly open: boolean }
  | { readonly is: 'replanDue' }
  | { readonly is: 'waitCancelled'; readonly chunk: Chunk }
  /** `appended` is false when the repeat may or may not be in the log. */
  | { readonly is: 'replanEnded'; readonly chunk: Chunk; readonly appended: boolean }
  /** The member kept the partition in a new generation, in which Kafka would read from the committed offset again. */
  | { readonly is: 'kept' }
  | { readonly is: 'drain' }
  | { readonly is: 'lose' }

export type PartitionEffect =
  | { readonly do: 'readFrom'; readonly offset: number }
  | { readonly do: 'pause' }
  | { readonly do: 'resume' }
  | { readonly do: 'awaitOwnCalls' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'announce'; readonly offset: number }
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
  /** Starts no further attempt of these chunks. */
  | { readonly do: 'cancel'; readonly chunks: Iterable<Chunk> }
  /** Ends the chunk's wait for its next attempt, if it still waits. */
  | { readonly do: 'cancelWait'; readonly chunk: Chunk }
  | { readonly do: 'replan'; readonly chunk: Chunk }
  | { readonly do: 'storeDeadLetter'; readonly unreadable: UnreadableRecord }

export type Transition = { readonly state: PartitionState; readonly effects: readonly PartitionEffect[] }

export type PartitionContext = {
  readonly now: Instant
  /** Identifies this process in commit metadata. */
  readonly self: string
  readonly limits: WindowLimits
  readonly lateOriginalMs: number
}
