/** What can keep the system from starting and is not a bug. */
export type StartFaultCode =
  | 'already_running'
  | 'backing_service_failed'
  | 'checksum_mismatch'
  | 'docker_missing'
  | 'download_failed'
  | 'java_missing'
  | 'maven_missing'
  | 'not_a_data_dir'
  | 'nothing_available'
  | 'port_busy'
  | 'python_missing'

/** A fault a person can mend. Its message is one sentence that says what to do; it is printed without a stack trace. */
export class StartFault extends Error {
  readonly code: StartFaultCode

  constructor(code: StartFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartFault'
    this.code = code
  }
}
