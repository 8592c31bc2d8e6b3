import { describe, expect, it } from 'vitest'
import { type Fault, serviceKinds } from '#infra/chaos/fault.ts'
import { readOptions } from '#infra/chaos/options.ts'
import { randomSchedule } from '#infra/chaos/random-schedule.ts'

const counts = { ingest: 2, dispatcher: 2, projector: 2, query: 1 }
const scheduleOf = (seed: number, minutes = 60) => randomSchedule({ seed, minutes, counts, brokers: 3, members: 3 })
const targetOf = ({ target }: Fault) => (target.is === 'service' ? `${target.kind} ${target.index}` : target.is)

describe('the schedule of a chaos run', () => {
  it('is the same for the same seed and another for another seed', () => {
    expect(scheduleOf(7)).toEqual(scheduleOf(7))
    expect(scheduleOf(8)).not.toEqual(scheduleOf(7))
  })

  it('has faults of every service, the brokers and the members, in order, all ended before the run ends', () => {
    const faults = scheduleOf(1)
    const services = serviceKinds.flatMap((kind) => Array.from({ length: counts[kind] }, (_, i) => `${kind} ${i}`))
    expect([...new Set(faults.map(targetOf))].toSorted()).toEqual(['broker', 'member', ...services].toSorted())
    expect(faults.map(({ atMs }) => atMs)).toEqual(faults.map(({ atMs }) => atMs).toSorted((a, b) => a - b))
    for (const { atMs, lastsMs } of faults) expect(atMs + lastsMs).toBeLessThan(60 * 60_000)
  })

  it('has one fault of a target at a time', () => {
    const byTarget = Map.groupBy(scheduleOf(3), ({ target }) => JSON.stringify(target))
    for (const faults of byTarget.values()) {
      const ends = faults.map(({ atMs, lastsMs }) => atMs + lastsMs)
      faults.slice(1).forEach(({ atMs }, index) => {
        expect(atMs).toBeGreaterThan(ends[index] ?? 0)
      })
    }
  })
})

describe('the options of the chaos command', () => {
  it('have defaults', () => {
    expect(readOptions([])).toEqual({ minutes: 5 })
    expect(readOptions(['--seed', '42', '--minutes', '10'])).toEqual({ seed: 42, minutes: 10 })
  })

  it.each([[['--seed', '-1']], [['--seed', '1.5']], [['--minutes', '0']], [['--minutes', 'ten']], [['--speed', '1']]])(
    'refuse %j with the usage',
    (args) => {
      expect(() => readOptions(args)).toThrow(/Usage: npm run --silent chaos/)
    },
  )
})
