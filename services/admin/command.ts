import type { ApiClientCredentials, ApiClientRegistry } from '#shared/ports/api-client-registry.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { DeadLetterStore } from './dead-letters.ts'
import type { ProjectionDeps } from './projection-switch.ts'

/** The dependencies of the commands. Each method reads the configuration and connects when a command calls it. */
export type CommandContext = {
  readonly clock: Clock
  registry(): ApiClientRegistry & ApiClientCredentials
  /** Returns one sentence for each difference between the topics and the catalogue. */
  checkTopics(): Promise<readonly string[]>
  /** Returns one sentence for each setting of the cluster that can lose data or positions. */
  clusterWarnings(): Promise<readonly string[]>
  /** Creates missing topics. Throws when an existing topic differs. Returns the names of all topics. */
  applyTopics(): Promise<readonly string[]>
  applyIndexes(): Promise<readonly { readonly collection: string; readonly index: string; readonly is: string }[]>
  deadLetters(): DeadLetterStore
  projections(): ProjectionDeps
  close(): Promise<void>
}

/** `value` is printed to stdout as JSON, `message` to stderr. `ok: false` gives exit code 1. */
export type CommandResult = { readonly value: unknown; readonly message?: string; readonly ok?: false }

export type Command = {
  /** The synopsis. The words before the first argument or option are the name of the command. */
  readonly usage: string
  run(args: readonly string[], context: CommandContext): Promise<CommandResult>
}

/** The command line is wrong. Thrown before any change. `hint` is appended to the message. */
export class UsageError extends Error {
  readonly code = 'usage'

  constructor(fault: string, hint = '') {
    super(`${fault} Nothing was changed.${hint}`)
    this.name = 'UsageError'
  }
}

export function rejectArguments(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new UsageError(`${command} takes no arguments.`)
}
