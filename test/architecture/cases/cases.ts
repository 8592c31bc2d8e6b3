type Tree = Readonly<Record<string, string>>

/** The faults that a rule reports of a broken tree, and the repaired tree, of which the rule reports none. */
type Case = { readonly broken: Tree; readonly faults: readonly string[]; readonly repaired: Tree }

/** By the promise of a rule, then by what the case shows. */
export type Cases = Readonly<Record<string, Readonly<Record<string, Case>>>>
