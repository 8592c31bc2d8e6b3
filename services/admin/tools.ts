import type { ApiClientRegistry } from '#shared/ports/api-client-registry.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { DeadLetterOffice } from './dead-letters.ts'
import type { ProjectionTools } from './projection-changes.ts'

/** What the commands work with. Each tool reads its configuration and connects when it is first used. */
export type AdminTools = {
  readonly clock: Clock
  registry(): ApiClientRegistry
  /** One sentence for each difference from the catalogue. */
  checkTopics(): Promise<readonly string[]>
  /** Creates what is missing; refuses drift. Returns the names of all topics. */
  applyTopics(): Promise<readonly string[]>
  applyIndexes(): Promise<readonly { readonly collection: string; readonly index: string; readonly is: string }[]>
  deadLetters(): DeadLetterOffice
  projections(): ProjectionTools
  close(): Promise<void>
}

/** What one command printed and whether it found everything as it should be. */
export type CommandResult = { readonly value: unknown; readonly message?: string; readonly ok?: false }

export type Command = {
  /** How to write it, after `admin`; the words up to the first argument or option are its name. */
  readonly usage: string
  run(args: readonly string[], tools: AdminTools): Promise<CommandResult>
}
