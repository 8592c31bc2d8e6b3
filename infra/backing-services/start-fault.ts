/** A fault that the user can fix. Its message is one sentence that says how; it is printed without a stack trace. */
export class StartFault extends Error {
  readonly code = 'start_fault'
  override readonly name = 'StartFault'
}
