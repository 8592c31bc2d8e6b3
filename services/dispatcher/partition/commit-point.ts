import type { CommitMetadata, RecordBefore } from './commit-metadata.ts'
import type { PartitionState, PositionedState } from './partition-state.ts'

export type CommitPoint = {
  readonly offset: number
  readonly metadata: CommitMetadata
  readonly before: RecordBefore
}

/** The record below `offset`, which is the low-water mark. */
export function recordBefore(state: PositionedState, offset: number): RecordBefore {
  if (state.rereadTo !== null && offset < state.rereadTo) return { is: 'unknown' }
  const done = state.is === 'running' || state.is === 'draining' ? (state.chunks?.window.lastDone() ?? null) : null
  const record = done ?? state.before
  return record === null ? { is: 'none' } : { is: 'record', ...record }
}

const pointAt = (state: PositionedState, offset: number, metadata: CommitMetadata): CommitPoint => ({
  offset,
  metadata,
  before: recordBefore(state, offset),
})

/** The next periodic commit; null when the low-water mark has not moved since the last commit. */
export function progressOf(state: PartitionState, self: string): CommitPoint | null {
  if (state.is !== 'running' && state.is !== 'draining') return null
  const offset = state.chunks?.window.lowWaterMark() ?? state.committedOffset
  return offset > state.committedOffset ? pointAt(state, offset, { is: 'open', by: self }) : null
}

/** The last commit of a draining partition. The next owner waits only for calls that may still run. */
export function finalCommitOf(
  state: PartitionState,
  {
    runningAttempts,
    elapsedMs,
    self,
  }: { readonly runningAttempts: number; readonly elapsedMs: number; readonly self: string },
): CommitPoint | null {
  if (state.is !== 'draining') return null
  const offset = state.chunks?.window.lowWaterMark() ?? state.committedOffset
  if (runningAttempts > 0) return pointAt(state, offset, { is: 'open', by: self })
  const restMs = state.chunks === null ? state.formerCallsEndAtMs - elapsedMs : 0
  return pointAt(state, offset, restMs > 0 ? { is: 'quiet', inMs: restMs } : { is: 'drained' })
}
