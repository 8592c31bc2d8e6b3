import type { RecordMark } from '#shared/ports/subscription.ts'

/**
 * Stored with a committed offset: which calls to the AI system may still run for the partition.
 * - drained: none
 * - open: calls of the process `by`
 * - quiet: calls of an earlier owner, for at most `inMs` milliseconds after the commit
 */
export type CommitMetadata =
  | { readonly is: 'drained' }
  | { readonly is: 'open'; readonly by: string }
  | { readonly is: 'quiet'; readonly inMs: number }

/**
 * The record below a committed offset, stored in the commit metadata. A new owner looks for this record in the log, to
 * detect lost records.
 * - record: this record was below the offset
 * - unknown: the owner reads part of the log again, because the log did not match the committed offset
 * - none: no record below the offset was finished, or an earlier version of this service committed the offset
 */
export type RecordBefore =
  | ({ readonly is: 'record' } & RecordMark)
  | { readonly is: 'unknown' }
  | { readonly is: 'none' }

/**
 * `needs`: a log without this record must be read again. It is the last repeat at or above the offset, because chunks
 * below the offset may wait only as repeats; while the owner reads again, also the last finished record.
 */
export type CommitNeeds = { readonly before: RecordBefore; readonly needs: RecordMark | null }

/** The time limit of a call (10 s) and one second to append its outcome. */
export const formerCallLimitMs = 11_000

/** Plain text, so that the tools that describe a consumer group show the metadata. */
export const formatCommitMetadata = (metadata: CommitMetadata, { before, needs }: CommitNeeds): string =>
  `${formatCalls(metadata)}${needs === null ? '' : ` needs ${formatMark(needs)}`}${formatRecordBefore(before)}`

const formatMark = ({ offset, appendedAt }: RecordMark): string => `${offset}@${appendedAt}`

function formatCalls(metadata: CommitMetadata): string {
  switch (metadata.is) {
    case 'drained':
      return 'drained'
    case 'open':
      return `open ${metadata.by}`
    case 'quiet':
      return `quiet ${Math.max(0, Math.ceil(metadata.inMs))}`
  }
}

function formatRecordBefore(before: RecordBefore): string {
  switch (before.is) {
    case 'record':
      return ` after ${formatMark(before)}`
    case 'unknown':
      return ' after unknown'
    case 'none':
      return ''
  }
}

/** Earlier versions ignore this part of the metadata. */
export function parseRecordBefore(text: string): RecordBefore {
  const [, before = ''] = text.split(' after ', 2)
  if (before === 'unknown') return { is: 'unknown' }
  const mark = parseMark(before)
  return mark === null ? { is: 'none' } : { is: 'record', ...mark }
}

/** Earlier versions ignore this part of the metadata. */
export function parseNeeds(text: string): RecordMark | null {
  const [calls = ''] = text.split(' after ', 1)
  const [, needs = ''] = calls.split(' needs ', 2)
  return parseMark(needs)
}

function parseMark(text: string): RecordMark | null {
  const [, offset, appendedAt] = /^(\d{1,15})@(\d{1,15})$/.exec(text) ?? []
  if (offset === undefined || appendedAt === undefined) return null
  return { offset: Number(offset), appendedAt: Number(appendedAt) }
}

/** Returns `open` by an unknown process for unknown metadata, so that the new owner waits. */
export function parseCommitMetadata(text: string): CommitMetadata {
  const [kind, rest = ''] = text.split(' ', 2)
  if (kind === 'drained') return { is: 'drained' }
  if (kind === 'quiet' && /^\d{1,6}$/.test(rest)) return { is: 'quiet', inMs: Number(rest) }
  return { is: 'open', by: kind === 'open' ? rest : '' }
}

/**
 * For how many milliseconds calls of other processes may still run. The caller must read `metadata` after the
 * assignment of the partition. `metadata` is null when the group has no committed offset.
 */
export function otherCallsLastMs(metadata: CommitMetadata | null, self: string): number {
  if (metadata === null || metadata.is === 'drained') return 0
  if (metadata.is === 'quiet') return Math.min(metadata.inMs, formerCallLimitMs)
  return metadata.by === self ? 0 : formerCallLimitMs
}
