/** The database or the event log cannot be reached. A later retry may succeed; a write may or may not be stored. */
export class DependencyLost extends Error {
  readonly code = 'service_unavailable'
  readonly dependency: 'database' | 'event_log'

  constructor(dependency: 'database' | 'event_log', cause: unknown) {
    super(`The ${dependency === 'database' ? 'database' : 'event log'} cannot be reached.`, { cause })
    this.name = 'DependencyLost'
    this.dependency = dependency
  }
}
