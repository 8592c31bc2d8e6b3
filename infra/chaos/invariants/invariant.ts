import type { RunFacts } from './facts.ts'
import type { LogIndex } from './log-index.ts'

export type Invariant = (facts: RunFacts, log: LogIndex) => readonly string[]

/** By the promise that each one checks. */
export type Invariants = Readonly<Record<string, Invariant>>
