/** A fault that the user can fix. The message states the fault and the fix, and is printed without a stack trace. */
export class StartFault extends Error {
  readonly code = 'start_fault'
  override readonly name = 'StartFault'
}
