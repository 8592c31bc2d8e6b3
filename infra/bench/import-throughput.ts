import { availableParallelism, cpus, totalmem } from 'node:os'
import type { JobResponse } from '#schemas/http/job.ts'
import { sampleContacts } from '#test/support/builders/sample-contacts.ts'
import { numberOption, optionsFrom, refuse } from './options.ts'
import { finishedJob, type Posted, postImport, type Target } from './service-client.ts'

const usage =
  'node infra/bench/import-throughput.ts --url http://127.0.0.1:8080 --key cik_… ' +
  '[--imports 20] [--contacts 10000] [--concurrency 4] [--deadline 600]'
const distinctBodies = 8
const pollEveryMs = 250

type Imported = { readonly posted: Posted; readonly acceptedAt: number; readonly job: JobResponse }

/** The address of a service on this machine: a benchmark must not be pointed at anybody else's. */
function loopback(text: string | undefined): string {
  const url = URL.canParse(text ?? '') ? new URL(text ?? '') : refuse(`--url must be an address. Usage: ${usage}`)
  const isLoopback = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  if (!isLoopback) refuse('--url must be on this machine (127.0.0.1, localhost or [::1]); nothing was sent.')
  return url.origin
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** Runs the work `concurrency` at a time, in order of start. */
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

function measure(imported: readonly Imported[], begunAt: number) {
  const sum = (of: (one: Imported) => number) => imported.reduce((total, one) => total + of(one), 0)
  const acceptSeconds = (Math.max(...imported.map(({ acceptedAt }) => acceptedAt)) - begunAt) / 1000
  const deliverSeconds = (Math.max(...imported.map(({ job }) => Date.parse(job.completed_at ?? ''))) - begunAt) / 1000
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

const given = optionsFrom(usage, ['url', 'key', 'imports', 'contacts', 'concurrency', 'deadline'])
const url = loopback(given.url)
const imports = numberOption(given, 'imports', { fallback: 20, min: 1, max: 1000 })
const contacts = numberOption(given, 'contacts', { fallback: 10_000, min: 1, max: 100_000 })
const concurrency = numberOption(given, 'concurrency', { fallback: 4, min: 1, max: 64 })
const deadline = numberOption(given, 'deadline', { fallback: 600, min: 1, max: 3600 })
const target: Target = {
  url,
  key: given.key ?? refuse(`--key must be an API key. Usage: ${usage}`),
  signal: AbortSignal.timeout(deadline * 1000),
}

// Bodies are made before the clock starts: making them would compete with the service for the same cores.
const bodies = Array.from({ length: Math.min(imports, distinctBodies) }, (_, seed) =>
  new TextEncoder().encode(JSON.stringify(sampleContacts({ count: contacts, seed }))),
)

try {
  const begunAt = Date.now()
  // Reading jobs begins after the last answer: the service says itself when each of them was completed.
  const posts = await inParallel(imports, concurrency, async (index) => {
    const posted = await postImport(target, bodies[index % bodies.length] ?? new Uint8Array())
    return { posted, acceptedAt: Date.now() }
  })
  const imported = await inParallel(imports, concurrency, async (index): Promise<Imported> => {
    const post = posts[index] ?? refuse('An import was not posted.')
    return { ...post, job: await finishedJob(target, post.posted.accepted.job_id, pollEveryMs) }
  })
  const figures = measure(imported, begunAt)
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
      ? `The run was not over after ${deadline} s; what was accepted goes on being delivered. Give it more with --deadline.`
      : `The run was given up: ${error instanceof Error ? error.message : 'for no known reason'}`,
  )
  process.exitCode = 1
}
