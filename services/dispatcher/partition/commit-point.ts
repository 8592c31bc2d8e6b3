import type { RecordMark } from '#shared/ports/subscription.ts'
import type { CommitMetadata, CommitNeeds } from './commit-metadata.ts'
import type { PartitionState, PositionedState } from './partition-state.ts'

export type CommitPoint = CommitNeeds & { readonly offset: number; readonly metadata: CommitMetadata }

/** What the log must hold for `offset`, which is the low-water mark. */
export function needsOf(state: PositionedState, offset: number): CommitNeeds {
  const done = lastDone(state)
  if (state.rereadTo !== null && offset < state.rereadTo) {
    // The log may lose records again before `rereadTo` is reached.
    return { before: { is: 'unknown' }, needs: laterOf(state.needs, done) }
  }
  const record = done ?? state.before
  return {
    before: record === null ? { is: 'none' } : { is: 'record', ...record },
    needs: state.needs !== null && state.needs.offset >= offset ? state.needs : null,
  }
}

const lastDone = (state: PositionedState): RecordMark | null =>
  state.is === 'running' || state.is === 'draining' ? (state.chunks?.window.lastDone() ?? null) : null

const laterOf = (one: RecordMark | null, other: RecordMark | null): RecordMark | null =>
  one === null || (other !== null && other.offset > one.offset) ? other : one

const pointAt = (state: PositionedState, offset: number, metadata: CommitMetadata): CommitPoint => ({
  offset,
  metadata,
  ...needsOf(state, offset),
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
