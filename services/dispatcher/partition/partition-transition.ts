import { assertNever } from '#shared/domain/assert-never.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { otherCallsLastMs } from './commit-metadata.ts'
import { needsOf } from './commit-point.ts'
import {
  applyFold,
  beginReplan,
  chunksToReplan,
  createPartitionChunks,
  endReplan,
  type PartitionChunks,
  resolveChunk,
  takeRecords,
} from './partition-chunks.ts'
import type {
  PartitionContext,
  PartitionEffect,
  PartitionInput,
  PartitionState,
  PositionedState,
  StateOf,
  Transition,
} from './partition-state.ts'

const retryStepMs = 500

const unchanged = (state: PartitionState): Transition => ({ state, effects: [] })

/**
 * Returns the next state and the effects to execute. Pure, except that `chunks` is changed in place. An unexpected input
 * is the late result of an effect of an earlier state and changes nothing.
 */
export function transition(state: PartitionState, input: PartitionInput, context: PartitionContext): Transition {
  if (state.is === 'lost') return unchanged(state)
  if (input.is === 'lose') return lose(state)
  if (state.is === 'opening') return opening(state, input, context)
  return adjustReading(positioned(state, input, context))
}

function lose(state: PartitionState): Transition {
  const chunks = state.is === 'running' || state.is === 'draining' ? state.chunks : null
  return { state: { is: 'lost' }, effects: chunks === null ? [] : [{ do: 'cancel', chunks: chunks.active.values() }] }
}

function opening(state: StateOf<'opening'>, input: PartitionInput, context: PartitionContext): Transition {
  switch (input.is) {
    case 'positionFound':
      return adjustReading({
        state: {
          is: 'awaitingRecords',
          committedOffset: input.offset,
          before: input.before,
          needs: input.needs,
          rereadTo: input.rereadTo,
          lastRead: input.before ?? input.needs,
          nextOffset: input.offset,
          paused: false,
          breakerOpen: state.breakerOpen,
          formerCallsEndAtMs: context.elapsedMs + otherCallsLastMs(input.metadata, context.self),
        },
        effects: [{ do: 'readFrom', offset: input.offset }],
      })
    case 'breakerChecked':
      return unchanged({ ...state, breakerOpen: input.open })
    case 'drain':
      return unchanged({ is: 'lost' })
    default:
      return unchanged(state)
  }
}

/** Handles the inputs that have the same meaning in every state with a known committed offset. */
function positioned(state: PositionedState, input: PartitionInput, context: PartitionContext): Transition {
  switch (input.is) {
    case 'recordsReceived': {
      const fresh = input.records.filter(({ offset }) => offset >= state.nextOffset)
      const last = fresh.at(-1)
      if (last === undefined) return unchanged(state)
      const lastRead = { offset: last.offset, appendedAt: last.appendedAt, leaderEpoch: last.leaderEpoch }
      return receive({ ...state, nextOffset: last.offset + 1, lastRead }, fresh, context)
    }
    case 'breakerChecked':
      return unchanged(input.open === state.breakerOpen ? state : { ...state, breakerOpen: input.open })
    case 'progressCommitted':
      return unchanged({ ...state, committedOffset: Math.max(state.committedOffset, input.offset) })
    case 'kept': {
      const effects: PartitionEffect[] = [{ do: 'readFrom', offset: state.nextOffset }]
      return { state, effects: state.paused ? [...effects, { do: 'pause' }] : effects }
    }
    case 'drain':
      return unchanged(drain(state))
    default:
      return ownInput(state, input, context)
  }
}

function ownInput(state: PositionedState, input: PartitionInput, context: PartitionContext): Transition {
  switch (state.is) {
    case 'awaitingRecords':
      return unchanged(state)
    case 'waitingForFormerCalls':
      return waitingForFormerCalls(state, input, context)
    case 'announcing':
      return announcing(state, input, context)
    case 'recovering':
      return recovering(state, input, context)
    case 'running':
      return running(state, input, context)
    case 'draining':
      return draining(state, input)
    default:
      return assertNever(state)
  }
}

/** `state` already has the new `nextOffset`. */
function receive(state: PositionedState, records: readonly LogRecord[], context: PartitionContext): Transition {
  switch (state.is) {
    case 'awaitingRecords': {
      const [firstRecord] = records
      if (firstRecord === undefined) return unchanged(state)
      const waiting = { firstRecord, buffer: records, startedAtMs: context.elapsedMs }
      return { state: { ...state, is: 'waitingForFormerCalls', ...waiting }, effects: [{ do: 'awaitOwnCalls' }] }
    }
    case 'waitingForFormerCalls':
    case 'announcing':
    case 'recovering':
      return unchanged({ ...state, buffer: [...state.buffer, ...records] })
    case 'running':
      return takeBuffer({ ...state, buffer: [...state.buffer, ...records] }, context)
    case 'draining':
      return unchanged(state)
    default:
      return assertNever(state)
  }
}

function drain(state: PositionedState): StateOf<'draining'> {
  const { committedOffset, before, needs, rereadTo, lastRead, nextOffset } = state
  const { paused, breakerOpen, formerCallsEndAtMs } = state
  const chunks = state.is === 'running' || state.is === 'draining' ? state.chunks : null
  const position = { committedOffset, before, needs, rereadTo, lastRead, nextOffset }
  return { is: 'draining', ...position, paused, breakerOpen, formerCallsEndAtMs, chunks }
}

const announce = (state: PositionedState): PartitionEffect => ({
  do: 'announce',
  offset: state.committedOffset,
  ...needsOf(state, state.committedOffset),
})

const fold = (state: StateOf<'announcing' | 'recovering'>): PartitionEffect => ({
  do: 'fold',
  since: state.firstRecord.appendedAt,
  fromOffset: state.rereadTo === null ? state.committedOffset : 0,
})

function waitingForFormerCalls(
  state: StateOf<'waitingForFormerCalls'>,
  input: PartitionInput,
  { elapsedMs }: PartitionContext,
): Transition {
  if (input.is !== 'ownCallsEnded' && input.is !== 'waited') return unchanged(state)
  const restMs = state.formerCallsEndAtMs - elapsedMs
  // Waits in steps, so that a stopped process does not keep a long timer.
  if (restMs > 0) return { state, effects: [{ do: 'wait', ms: Math.min(restMs, retryStepMs) }] }
  return { state: { ...state, is: 'announcing' }, effects: [announce(state)] }
}

function announcing(state: StateOf<'announcing'>, input: PartitionInput, { elapsedMs }: PartitionContext): Transition {
  switch (input.is) {
    case 'announced': {
      const { startedAtMs, ...others } = state
      return {
        state: { ...others, is: 'recovering', waitedMs: elapsedMs - startedAtMs, foldStartedAtMs: elapsedMs },
        effects: [fold(state)],
      }
    }
    case 'announcementFailed':
      return { state, effects: [{ do: 'wait', ms: retryStepMs }] }
    case 'waited':
      return { state, effects: [announce(state)] }
    default:
      return unchanged(state)
  }
}

function recovering(state: StateOf<'recovering'>, input: PartitionInput, context: PartitionContext): Transition {
  switch (input.is) {
    case 'deliveriesFolded': {
      const { firstRecord, waitedMs, foldStartedAtMs, ...others } = state
      const chunks = createPartitionChunks(state.committedOffset, context.limits, input.folded)
      const next = takeBuffer({ ...others, is: 'running', chunks, repeats: [], deadLetters: 0, full: false }, context)
      const times = { waitedMs, foldMs: context.elapsedMs - foldStartedAtMs }
      const report = { offset: firstRecord.offset, chunks: input.folded.size, ...times }
      return { state: next.state, effects: [{ do: 'reportRecovery', ...report }, ...next.effects] }
    }
    case 'foldFailed':
      return { state, effects: [{ do: 'wait', ms: retryStepMs }] }
    case 'waited':
      return { state, effects: [fold(state)] }
    default:
      return unchanged(state)
  }
}

const hasUnfinishedRecords = ({ repeats, deadLetters }: StateOf<'running'>): boolean =>
  repeats.length > 0 || deadLetters > 0

function takeBuffer(state: StateOf<'running'>, { lateOriginalMs }: PartitionContext): Transition {
  if (state.buffer.length === 0 || hasUnfinishedRecords(state)) return unchanged(state)
  const { ready, repeats, unreadable } = takeRecords(state.chunks, state.buffer, lateOriginalMs)
  const effects: PartitionEffect[] = ready.map((chunk) => ({ do: 'schedule', chunk }))
  if (repeats.length > 0) effects.push({ do: 'foldRepeats', repeats })
  for (const one of unreadable) effects.push({ do: 'storeDeadLetter', unreadable: one })
  return { state: { ...state, buffer: [], repeats, deadLetters: unreadable.length }, effects }
}

function running(state: StateOf<'running'>, input: PartitionInput, context: PartitionContext): Transition {
  const { chunks } = state
  switch (input.is) {
    case 'deliveriesFolded': {
      applyFold(state.repeats, input.folded)
      const scheduled = state.repeats.map(({ chunk }): PartitionEffect => ({ do: 'schedule', chunk }))
      const next = takeBuffer({ ...state, repeats: [] }, context)
      return { state: next.state, effects: [...scheduled, ...next.effects] }
    }
    case 'foldFailed':
      return { state, effects: [{ do: 'wait', ms: retryStepMs }] }
    case 'waited':
      return state.repeats.length === 0
        ? unchanged(state)
        : { state, effects: [{ do: 'foldRepeats', repeats: state.repeats }] }
    case 'deadLetterEnded':
      if (input.stored) chunks.window.done(input.offset)
      return takeBuffer({ ...state, deadLetters: state.deadLetters - 1 }, context)
    case 'replanDue':
      if (!state.full) return unchanged(state)
      return {
        state,
        effects: chunksToReplan(chunks.active.values(), context.now).map((chunk) => ({ do: 'cancelWait', chunk })),
      }
    case 'waitCancelled':
      beginReplan(chunks, input.chunk)
      return { state, effects: [{ do: 'replan', chunk: input.chunk }] }
    default:
      return endingWork(state, chunks, input)
  }
}

function draining(state: StateOf<'draining'>, input: PartitionInput): Transition {
  if (state.chunks === null) return unchanged(state)
  if (input.is === 'deadLetterEnded' && input.stored) state.chunks.window.done(input.offset)
  return endingWork(state, state.chunks, input)
}

/** Handles the inputs that have the same meaning while the partition runs and while it drains. */
function endingWork(
  state: StateOf<'running' | 'draining'>,
  chunks: PartitionChunks,
  input: PartitionInput,
): Transition {
  if (input.is === 'chunkResolved') resolveChunk(chunks, input.chunk)
  if (input.is !== 'replanEnded') return unchanged(state)
  const { needs, kept } = endReplan(chunks, input.chunk, { repeat: input.repeat, needs: state.needs })
  return { state: { ...state, needs }, effects: kept === null ? [] : [{ do: 'schedule', chunk: kept }] }
}

function adjustReading({ state, effects }: Transition): Transition {
  if (state.is === 'opening' || state.is === 'lost') return { state, effects }
  const next = state.is === 'running' ? withFullness(state) : state
  const paused = mustPause(next)
  if (paused === next.paused) return { state: next, effects }
  return { state: { ...next, paused }, effects: [...effects, { do: paused ? 'pause' : 'resume' }] }
}

function withFullness(state: StateOf<'running'>): StateOf<'running'> {
  const { window } = state.chunks
  const full = window.isFull() || (state.full && !window.hasRoom())
  return full === state.full ? state : { ...state, full }
}

function mustPause(state: PositionedState): boolean {
  switch (state.is) {
    case 'awaitingRecords':
      return state.breakerOpen
    case 'running':
      return state.full || state.breakerOpen || (state.buffer.length > 0 && hasUnfinishedRecords(state))
    case 'waitingForFormerCalls':
    case 'announcing':
    case 'recovering':
    case 'draining':
      return true
    default:
      return assertNever(state)
  }
}
