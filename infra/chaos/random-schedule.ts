import { createRandom, type Random } from '#test/support/builders/random.ts'
import { type Fault, type FaultAction, type ServiceKind, serviceKinds, type Target } from './fault.ts'

export type ScheduleOptions = {
  readonly seed: number
  readonly minutes: number
  readonly counts: Readonly<Record<ServiceKind, number>>
  readonly brokers: number
  readonly members: number
}

type Range = readonly [leastMs: number, mostMs: number]
/** How long a fault lasts, and how long its target gets no other fault afterwards. */
type Kind = { readonly action: FaultAction; readonly lasts: Range; readonly restMs: number }

const second = 1_000
const serviceFaults: readonly Kind[] = [
  { action: 'kill', lasts: [0, 8 * second], restMs: 8 * second },
  { action: 'kill', lasts: [0, 8 * second], restMs: 8 * second },
  { action: 'stop', lasts: [0, 4 * second], restMs: 30 * second },
  { action: 'pause', lasts: [second, 25 * second], restMs: 8 * second },
  { action: 'cut', lasts: [0, 15 * second], restMs: 8 * second },
  { action: 'silence', lasts: [second, 25 * second], restMs: 8 * second },
]
/** A broker that was killed may register again only when its session of 9 s has expired, and then has to catch up. */
const brokerFaults: readonly Kind[] = [
  { action: 'kill', lasts: [0, 15 * second], restMs: 45 * second },
  { action: 'stop', lasts: [0, 5 * second], restMs: 60 * second },
  { action: 'pause', lasts: [second, 20 * second], restMs: 30 * second },
]
const memberFaults: readonly Kind[] = [
  { action: 'kill', lasts: [0, 15 * second], restMs: 30 * second },
  { action: 'pause', lasts: [second, 20 * second], restMs: 30 * second },
  { action: 'step_down', lasts: [0, 0], restMs: 15 * second },
]
const between: Range = [2 * second, 9 * second]
const warmUpMs = 5 * second
const calmEndMs = 15 * second

/** The same options give the same faults. A target has one fault at a time; faults of different targets may overlap. */
export function randomSchedule(options: ScheduleOptions): readonly Fault[] {
  const random = createRandom(options.seed)
  const end = options.minutes * 60 * second - calmEndMs
  const freeAt = new Map<string, number>()
  const faults: Fault[] = []
  for (let atMs = warmUpMs; atMs < end; atMs += within(random, between)) {
    const { target, kinds } = pickTarget(random, options)
    const { action, lasts, restMs } = random.pick(kinds)
    const lastsMs = within(random, lasts)
    const name = nameOf(target)
    if (atMs < (freeAt.get(name) ?? 0) || atMs + lastsMs > end) continue
    freeAt.set(name, atMs + lastsMs + restMs)
    faults.push({ atMs, lastsMs, action, target })
  }
  return faults
}

function pickTarget(random: Random, { counts, brokers, members }: ScheduleOptions) {
  const share = random.below(100)
  if (share < 20)
    return { target: { is: 'broker', which: random.below(brokers) } satisfies Target, kinds: brokerFaults }
  if (share < 35) {
    const which = random.chance(0.6) ? 'primary' : random.below(members)
    return {
      target: { is: 'member', which } satisfies Target,
      kinds: which === 'primary' ? memberFaults : memberFaults.slice(0, 2),
    }
  }
  const kind = random.pick(serviceKinds)
  return { target: { is: 'service', kind, index: random.below(counts[kind]) } satisfies Target, kinds: serviceFaults }
}

/** All members have one name, because `primary` may be any of them. */
const nameOf = (target: Target): string =>
  target.is === 'service'
    ? `${target.kind} ${target.index}`
    : target.is === 'member'
      ? 'member'
      : `broker ${target.which}`

const within = (random: Random, [least, most]: Range): number => least + random.below(most - least + 1)
