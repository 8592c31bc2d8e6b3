import { randomInt } from 'node:crypto'
import { untilAborted } from '#shared/runtime/deadline.ts'
import { startCluster } from '../backing-services/cluster/start-cluster.ts'
import { runAsProcess } from '../start/run-as-process.ts'
import { describeFault } from './fault.ts'
import { figuresOf } from './figures.ts'
import { violationsOf } from './invariants/check-invariants.ts'
import { keepLogs } from './keep-logs.ts'
import { readOptions } from './options.ts'
import { randomSchedule } from './random-schedule.ts'
import { type RunResult, run } from './run.ts'

const counts = { ingest: 2, dispatcher: 2, projector: 2, query: 1 }
const shownViolations = 10

/** `npm run chaos`: the exit code is 0 if every promise held, and 1 otherwise. */
await runAsProcess(async ({ signal }) => {
  const { seed = randomInt(2 ** 31), minutes } = readOptions(process.argv.slice(2))
  await Promise.race([chaos(seed, minutes), untilAborted(signal)])
})

async function chaos(seed: number, minutes: number): Promise<void> {
  say(`Seed ${seed}, ${minutes} min. Starting three brokers and three members of MongoDB …`)
  const cluster = await startCluster()
  try {
    const { kafka, mongodb } = cluster
    const faults = randomSchedule({
      seed,
      minutes,
      counts,
      brokers: kafka.brokers.length,
      members: mongodb.members.length,
    })
    const loadMs = minutes * 60_000
    const onFault = (fault: (typeof faults)[number]) => say(describeFault(fault))
    report(await run({ cluster, seed, faults, loadMs, counts, proxied: true, onFault }), seed, minutes)
  } finally {
    await cluster.stop()
  }
}

function report(result: RunResult, seed: number, minutes: number): void {
  const violations = Object.entries(violationsOf(result.facts))
  say('')
  for (const [name, value] of Object.entries(figuresOf(result))) say(`${name}: ${JSON.stringify(value)}`)
  for (const [promise, sentences] of violations) {
    say(`\n✗ ${promise} (${sentences.length})`)
    for (const sentence of sentences.slice(0, shownViolations)) say(`  ${sentence}`)
  }
  if (violations.length > 0) {
    process.exitCode = 1
    say(`\nThe logs of the services are in ${keepLogs(result)}.`)
  }
  const verdict = violations.length === 0 ? 'every promise held' : `${violations.length} promises were broken`
  say(`\nVerdict: ${verdict} (seed ${seed}, ${minutes} min, ${result.applied.length} faults).`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
