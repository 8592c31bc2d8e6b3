/** The command line asks for something that cannot be done as written; nothing was done. `hint` comes last. */
export class UsageFault extends Error {
  readonly code = 'usage'

  constructor(fault: string, hint = '') {
    super(`${fault} Nothing was changed.${hint}`)
    this.name = 'UsageFault'
  }
}
