/** For the default branch of a switch over a union: the compiler rejects the call if a member is not handled. */
export function assertNever(value: never): never {
  throw new Error('The switch does not handle this value.', { cause: value })
}
