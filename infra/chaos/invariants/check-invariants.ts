import { deliveryInvariants } from './delivery-invariants.ts'
import type { RunFacts } from './facts.ts'
import { importInvariants } from './import-invariants.ts'
import type { Invariants } from './invariant.ts'
import { indexLog } from './log-index.ts'
import { viewInvariants } from './view-invariants.ts'

/** Each invariant returns one sentence per violation, with ids but without contacts. */
export const invariants: Invariants = { ...importInvariants, ...deliveryInvariants, ...viewInvariants }

export type Violations = Readonly<Record<string, readonly string[]>>

/** Returns the violated invariants only; an empty object means that the run kept all promises. */
export function violationsOf(facts: RunFacts): Violations {
  const log = indexLog(facts.log)
  const results = Object.entries(invariants).map(([name, check]) => [name, check(facts, log)] as const)
  return Object.fromEntries(results.filter(([, violations]) => violations.length > 0))
}
