type Tree = Readonly<Record<string, string>>

/** `faults` are the faults of `broken`. The rule reports no fault in `repaired`. */
type Case = { readonly broken: Tree; readonly faults: readonly string[]; readonly repaired: Tree }

/** The keys are the name of the rule and the name of the case. */
export type Cases = Readonly<Record<string, Readonly<Record<string, Case>>>>
