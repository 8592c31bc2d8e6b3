import { availableParallelism, cpus, totalmem } from 'node:os'
import type { JobResponse } from '#schemas/http/job.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { quantile } from './load.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'
import { cpuPerMillion, cpuSecondsOf, processesOf } from './process-cpu.ts'
import { finishedJob, type Posted, postImport, type Target } from './service-client.ts'

const usage =
  'node infra/bench/import-throughput.ts --url http://127.0.0.1:8080 --key cik_… ' +
  '[--imports 20] [--contacts 10000] [--concurrency 4] [--deadline 600] [--processes services=PID,kafka=PID]'
const distinctBodies = 8
const pollEveryMs = 250

type Imported = { readonly posted: Posted; readonly acceptedAt: number; readonly job: JobResponse }

/** Accepts only addresses of this machine, so that a benchmark cannot load another machine by mistake. */
function loopback(text: string | undefined): string {
  const url = URL.canParse(text ?? '') ? new URL(text ?? '') : refuse(`--url must be an address. Usage: ${usage}`)
  const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  if (!isLoopback) refuse('--url must be on this machine (127.0.0.1, localhost or [::1]); nothing was sent.')
  return url.origin
}

/** Runs at most `concurrency` calls of `work` at the same time. Results are in the order of the index. */
async function inParallel<T>(count: number, concurrency: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    while (next < count) {
      const index = next++
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker))
  return results
}

/** Not `Math.max(...times)`, which fails with hundreds of thousands of arguments. */
const latest = (times: readonly number[]): number => times.reduce((last, time) => Math.max(last, time), 0)

function measure(imported: readonly Imported[], begunAt: number) {
  const sum = (of: (one: Imported) => number) => imported.reduce((total, one) => total + of(one), 0)
  const acceptSeconds = (latest(imported.map(({ acceptedAt }) => acceptedAt)) - begunAt) / 1000
  const deliverSeconds = (latest(imported.map(({ job }) => Date.parse(job.completed_at ?? ''))) - begunAt) / 1000
  const latencies = imported.map(({ posted }) => posted.milliseconds).toSorted((a, b) => a - b)
  const accepted = sum(({ posted }) => posted.accepted.total_contacts)
  const sent = sum(({ job }) => job.sent_contacts)
  return {
    imports: imported.length,
    contacts_accepted: accepted,
    contacts_valid: sum(({ posted }) => posted.accepted.valid_contacts),
    contacts_delivered: sent,
    accepted_per_second: Math.round(accepted / acceptSeconds),
    delivered_per_second: Math.round(sent / deliverSeconds),
    post_p50_ms: Math.round(quantile(latencies, 0.5)),
    post_p99_ms: Math.round(quantile(latencies, 0.99)),
    posts_repeated: sum(({ posted }) => posted.retries),
    seconds: Number(deliverSeconds.toFixed(1)),
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? 'unknown',
    memory_gib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  }
}

const given = optionsFrom(usage, ['url', 'key', 'imports', 'contacts', 'concurrency', 'deadline', 'processes'])
const url = loopback(given.url)
const imports = numberOption(given, 'imports', { fallback: 20, min: 1, max: 1_000_000 })
const contacts = numberOption(given, 'contacts', { fallback: 10_000, min: 1, max: 100_000 })
const concurrency = numberOption(given, 'concurrency', { fallback: 4, min: 1, max: 1024 })
const deadline = numberOption(given, 'deadline', { fallback: 600, min: 1, max: 3600 })
const processes = processesOf(given.processes ?? '')
const target: Target = {
  url,
  key: given.key ?? refuse(`--key must be an API key. Usage: ${usage}`),
  signal: AbortSignal.timeout(deadline * 1000),
}

// Created before the measurement, because the service and this program share the cores.
const bodies = Array.from({ length: Math.min(imports, distinctBodies) }, (_, seed) =>
  new TextEncoder().encode(JSON.stringify(sampleContacts({ count: contacts, seed }))),
)

async function finished(post: Omit<Imported, 'job'> | undefined): Promise<Imported> {
  if (post === undefined) throw new Error('An import was not posted.')
  return { ...post, job: await finishedJob(target, post.posted.accepted.job_id, pollEveryMs) }
}

try {
  const begunAt = Date.now()
  const cpuBefore = cpuSecondsOf(processes)
  const posts = await inParallel(imports, concurrency, async (index) => {
    const posted = await postImport(target, bodies[index % bodies.length] ?? new Uint8Array())
    return { posted, acceptedAt: Date.now() }
  })
  // Last import first, so that nearly all GETs are sent after the end of delivery and outside the measured time.
  const jobs = posts.toReversed()
  const lastJobs = await inParallel(Math.min(concurrency, imports), concurrency, (index) => finished(jobs[index]))
  const cpuAfter = cpuSecondsOf(processes)
  const otherJobs = await inParallel(imports - lastJobs.length, concurrency, (index) =>
    finished(jobs[index + lastJobs.length]),
  )
  const figures = {
    ...measure([...lastJobs, ...otherJobs], begunAt),
    ...cpuPerMillion(cpuBefore, cpuAfter, imports * contacts),
  }
  console.table(figures)
  console.log(JSON.stringify(figures))
  if (figures.contacts_delivered !== figures.contacts_valid) {
    console.error(`${figures.contacts_valid - figures.contacts_delivered} valid contacts were not delivered.`)
    process.exitCode = 1
  }
} catch (error) {
  const overdue = target.signal.aborted
  console.error(
    overdue
      ? `The run was not over after ${deadline} s. The service is still delivering accepted imports. Set a longer limit with --deadline.`
      : `The run failed: ${error instanceof Error ? error.message : String(error)}`,
  )
  process.exitCode = 1
}
