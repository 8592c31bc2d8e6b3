import { createHash } from 'node:crypto'
import type { ProcessMark } from './process-mark.ts'
import type { RecordedChild } from './services-file.ts'

/** What to do about a child that the last start has recorded. */
export type Adoption = { do: 'start' } | { do: 'adopt'; mark: ProcessMark } | { do: 'replace'; mark: ProcessMark }

/** A program and its arguments in short. Hashed, as the environment may hold secrets. */
export function fingerprint(program: {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
}): string {
  const { command, args, env = {} } = program
  const text = JSON.stringify([command, args, Object.entries(env).sort(([a], [b]) => a.localeCompare(b))])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** A child that still runs is adopted when it is the program we would start today, and replaced otherwise. */
export function adoptionOf(
  recorded: RecordedChild | undefined,
  command: string,
  isRunning: (mark: ProcessMark) => boolean,
): Adoption {
  if (recorded === undefined || !isRunning(recorded)) return { do: 'start' }
  return { do: recorded.command === command ? 'adopt' : 'replace', mark: recorded }
}
