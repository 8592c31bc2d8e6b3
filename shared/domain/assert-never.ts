/** Marks a branch that the types rule out: the compiler refuses a union whose member was forgotten. */
export function assertNever(value: never): never {
  throw new Error('A value outside of its type got here; its union has a member that is not handled.', { cause: value })
}
