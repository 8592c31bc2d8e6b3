import { parseArgs } from 'node:util'
import { type DeadLetterSummary, type UnreadableReason, unreadableReasons } from '#schemas/events/dead-letter.ts'
import type { DeadLetter } from '#shared/domain/dead-letters/dead-letter.ts'
import { timestampOf } from '#shared/domain/instant.ts'
import { asUsageErrors, parseWholeNumber } from './client-options.ts'
import { type Command, UsageError } from './command.ts'
import type { DeadLetterStore } from './dead-letters.ts'
import { createThrottle } from './throttle.ts'

const selection = '[--reason R]… [--id ID]…'
const dryMessage = 'This was a dry run: nothing was changed.'

export const deadLettersCommands: readonly Command[] = [
  {
    usage: `dead-letters list ${selection} [--limit N]`,
    async run(args, tools) {
      const { matches, limit } = readOptions('dead-letters list', args, ['limit'])
      const shown: DeadLetterSummary[] = []
      let total = 0
      for await (const letter of matching(tools.deadLetters(), matches)) {
        if (shown.length < limit) shown.push(summaryOf(letter))
        total += 1
      }
      const more = total > shown.length ? ` The first ${shown.length} are shown; --limit shows more.` : ''
      return { value: { dead_letters: shown, total }, message: `${counted(total)} open.${more}` }
    },
  },
  {
    usage: `dead-letters redrive ${selection} [--rate N] [--dry-run]`,
    async run(args, tools) {
      const { matches, rate, dryRun } = readOptions('dead-letters redrive', args, ['rate', 'dry-run'])
      const store = tools.deadLetters()
      const throttle = createThrottle({ perSecond: rate, clock: tools.clock })
      const counts = { matching: 0, redriven: 0, not_kept: 0, of_failed_chunks: 0 }
      for await (const letter of matching(store, matches)) {
        counts.matching += 1
        if (letter.chunk !== null) counts.of_failed_chunks += 1
        if (dryRun) continue
        await throttle()
        counts[await store.redrive(letter)] += 1
      }
      return { value: { dry_run: dryRun, ...counts }, message: redriveMessage(dryRun, counts) }
    },
  },
  {
    usage: `dead-letters purge (--all | ${selection}) [--rate N] [--dry-run]`,
    async run(args, tools) {
      const { matches, rate, dryRun } = readOptions('dead-letters purge', args, ['all', 'rate', 'dry-run'])
      const store = tools.deadLetters()
      const throttle = createThrottle({ perSecond: rate, clock: tools.clock })
      let count = 0
      for await (const letter of matching(store, matches)) {
        count += 1
        if (dryRun) continue
        await throttle()
        await store.discard(letter)
      }
      const removed = dryRun ? 0 : await store.removeClosed()
      return {
        value: { dry_run: dryRun, matching: count, purged: dryRun ? 0 : count, records_removed: removed },
        message: dryRun
          ? `${counted(count)} selected for the purge. ${dryMessage}`
          : `${counted(count)} purged. ${removed} records before the oldest open dead letters were deleted.`,
      }
    },
  },
]

const options = {
  reason: { type: 'string', multiple: true, default: [] as string[] },
  id: { type: 'string', multiple: true, default: [] as string[] },
  limit: { type: 'string', default: '100' },
  rate: { type: 'string', default: '50' },
  all: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const

type Matches = (letter: DeadLetter) => boolean

function readOptions(command: string, args: readonly string[], taken: readonly (keyof typeof options)[]) {
  const { values, tokens } = asUsageErrors(() => parseArgs({ args: [...args], options, tokens: true }))
  const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
  const unknown = given.find((name) => ![...taken, 'reason', 'id'].includes(name))
  if (unknown !== undefined) throw new UsageError(`${command} takes no --${unknown}.`)
  const reasons = new Set(values.reason.map(readReason))
  const ids = new Set(values.id)
  const isSelective = reasons.size > 0 || ids.size > 0
  if (taken.includes('all') && isSelective === values.all) {
    throw new UsageError(`${command} needs either --all or at least one --reason or --id.`)
  }
  const matches: Matches = ({ id, reason }) =>
    (reasons.size === 0 || reasons.has(reason)) && (ids.size === 0 || ids.has(id))
  return {
    matches,
    limit: asUsageErrors(() => parseWholeNumber('--limit', 1, 10_000)(values.limit)),
    rate: asUsageErrors(() => parseWholeNumber('--rate', 1, 10_000)(values.rate)),
    dryRun: values['dry-run'],
  }
}

const isReason = (text: string): text is UnreadableReason => unreadableReasons.some((reason) => reason === text)

function readReason(text: string): UnreadableReason {
  if (isReason(text)) return text
  throw new UsageError(`--reason must be one of ${unreadableReasons.join(', ')}; it is "${text}".`)
}

async function* matching(store: DeadLetterStore, matches: Matches): AsyncGenerator<DeadLetter> {
  for await (const letter of store.open()) if (matches(letter)) yield letter
}

const summaryOf = (letter: DeadLetter): DeadLetterSummary => ({
  id: letter.id,
  topic: letter.topic,
  partition: letter.partition,
  offset: letter.offset,
  reason: letter.reason,
  appended_at: timestampOf(letter.appendedAt),
  parked_at: timestampOf(letter.storedAt),
  bytes: letter.omittedBytes ?? letter.original.value?.byteLength ?? 0,
  chunk_failed: letter.chunk !== null,
})

const counted = (count: number): string => (count === 1 ? '1 dead letter is' : `${count} dead letters are`)

type Redriven = { readonly matching: number; readonly redriven: number } & {
  readonly not_kept: number
  readonly of_failed_chunks: number
}

function redriveMessage(dryRun: boolean, { matching, redriven, not_kept, of_failed_chunks }: Redriven): string {
  const sentences = [
    dryRun ? `${counted(matching)} selected for the redrive. ${dryMessage}` : `${counted(redriven)} redriven.`,
  ]
  if (of_failed_chunks > 0) {
    sentences.push(
      `${of_failed_chunks} of them belong to chunks that have failed. A redrive does not change a failed chunk: import those contacts again.`,
    )
  }
  if (not_kept > 0) sentences.push(`${not_kept} were not redriven, because their values were too large to store.`)
  return sentences.join(' ')
}
