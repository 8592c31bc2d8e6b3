export const serviceKinds = ['ingest', 'dispatcher', 'projector', 'query'] as const
export type ServiceKind = (typeof serviceKinds)[number]

/**
 * - broker: `leader` is the leader of partition 0 of `imports` when the fault begins
 * - member: `primary` is the primary of the replica set when the fault begins
 * - service: the first process of a kind has the index 0
 */
export type Target =
  | { readonly is: 'broker'; readonly which: number | 'leader' }
  | { readonly is: 'member'; readonly which: number | 'primary' }
  | { readonly is: 'service'; readonly kind: ServiceKind; readonly index: number }

/**
 * - kill: SIGKILL, then a start after `lastsMs`
 * - stop: SIGTERM, then a start after `lastsMs`
 * - pause: SIGSTOP, then SIGCONT after `lastsMs`
 * - cut: all connections of a service to Kafka and MongoDB are closed, and new ones refused, for `lastsMs`
 * - silence: the same connections stay open for `lastsMs`, but transport nothing
 * - step_down: the primary becomes a secondary
 * - roll_back: the other members stop replicating for `lastsMs`, then one of them becomes the primary, so that the old
 *   primary rolls its last writes back
 */
export type FaultAction = 'kill' | 'stop' | 'pause' | 'cut' | 'silence' | 'step_down' | 'roll_back'

export type Fault = {
  /** Time since the start of all faults. */
  readonly atMs: number
  readonly lastsMs: number
  readonly action: FaultAction
  readonly target: Target
}

export function describeFault({ atMs, lastsMs, action, target }: Fault): string {
  const name = target.is === 'service' ? `${target.kind} ${target.index}` : `${target.is} ${target.which}`
  return `${(atMs / 1_000).toFixed(1).padStart(6)} s  ${action} ${name} for ${(lastsMs / 1_000).toFixed(1)} s`
}
