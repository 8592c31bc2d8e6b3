import type { RunFacts } from './facts.ts'
import type { LogIndex } from './log-index.ts'

export type Invariant = (facts: RunFacts, log: LogIndex) => readonly string[]

/** The keys are the promises that the invariants check. */
export type Invariants = Readonly<Record<string, Invariant>>
