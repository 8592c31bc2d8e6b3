import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pauseFor } from '#shared/runtime/retry.ts'
import { createTestEnvironment, type TestEnvironment } from '#test/support/backing/test-environment.ts'
import { createRandom } from '#test/support/builders/random.ts'
import type { Script } from '../ai-system/simulated-ai-system.ts'
import type { Cluster } from '../backing-services/cluster/start-cluster.ts'
import { applyFault } from './apply-fault.ts'
import type { Fault, ServiceKind } from './fault.ts'
import { type Interval, type RunFacts, readLogEntries } from './invariants/facts.ts'
import { type Load, startLoad } from './load.ts'
import { type Proxies, startProxies } from './proxies.ts'
import { readLog } from './read-log.ts'
import { type ServiceGroup, startServices } from './service-group.ts'
import { signingSecret, startSink } from './sink.ts'
import { startViewer, type Viewer } from './viewer.ts'

export type RunOptions = {
  readonly cluster: Cluster
  readonly seed: number
  readonly faults: readonly Fault[]
  /** The load lasts at least this long, and until the last fault has ended. */
  readonly loadMs: number
  readonly importsPerSecond?: number
  readonly counts?: Readonly<Record<ServiceKind, number>>
  /** The answers of the AI system. */
  readonly script?: Script
  /** Connects each service through its own TCP proxies, which the actions `cut` and `silence` need. */
  readonly proxied?: boolean
  /** Called when a fault begins. */
  readonly onFault?: (fault: Fault) => void
}

export type AppliedFault = Interval & { readonly fault: Fault }

export type RunResult = {
  readonly facts: RunFacts
  readonly applied: readonly AppliedFault[]
  /** From the end of the last fault, with all servers in sync, until every import is accepted and every job ended. */
  readonly recoveryMs: number
  /** The output of each service, by its name. */
  readonly outputs: ReadonlyMap<string, string>
}

const defaultCounts = { ingest: 2, dispatcher: 2, projector: 2, query: 1 }
/** A tenth of the calls fails and is repeated; the others take 20 or 40 ms. */
const defaultScript: Script = {
  rules: [
    { rate: 0.1, behave: { status: 503 } },
    { rate: 0.5, behave: { delay_ms: 40 } },
  ],
  otherwise: { delay_ms: 20 },
}
const settleWithinMs = 120_000
const preload = pathToFileURL(join(import.meta.dirname, 'connect-through-proxies.ts')).href

/**
 * Starts the services as processes on the cluster, posts imports, applies the faults, waits until everything has
 * recovered, and returns what was observed. Rejects only when a part of the run itself fails.
 */
export async function run(options: RunOptions): Promise<RunResult> {
  const { cluster, seed, script = defaultScript, counts = defaultCounts } = options
  await using started = new AsyncDisposableStack()
  const testEnvironment = await createTestEnvironment(cluster.kafka.brokers, cluster.mongodb.url)
  started.defer(() => testEnvironment.mongo.close())
  await untilInSync(cluster)
  const sink = started.adopt(await startSink(script, seed), (one) => one.stop())
  const proxies = new Map<string, Proxies>()
  if (options.proxied === true) {
    for (const name of namesOf(counts)) {
      proxies.set(
        name,
        started.adopt(await startProxies(portsOf(cluster)), (one) => one.stop()),
      )
    }
  }
  const services = await startServices({
    counts,
    environmentOf: (name) => environmentOf(testEnvironment, sink.url, proxies.get(name)),
  })
  started.defer(() => services.stop())
  const urlsOf = (kind: ServiceKind) => () =>
    services.services.flatMap((service) => (service.kind === kind ? (service.url() ?? []) : []))
  const { apiKey } = testEnvironment
  const viewer = startViewer({ urls: urlsOf('query'), apiKey, random: createRandom(seed + 1) })
  started.defer(() => viewer.stop())
  const importsPerSecond = options.importsPerSecond ?? 6
  const onAccepted = viewer.watch
  const load = startLoad({ urls: urlsOf('ingest'), apiKey, seed, importsPerSecond, onAccepted })
  started.defer(() => load.stop(0))
  const zombieWindows: Interval[] = []
  const scene = { cluster: { ...cluster, testEnvironment }, services: services.services, proxies, zombieWindows }
  const [applied] = await Promise.all([applyAll(scene, options), pauseFor(options.loadMs)])
  const { finalJobs, recoveryMs } = await settle({ cluster, load, viewer })
  await services.stop()
  const log = readLogEntries(await readLog(cluster.kafka.brokers, testEnvironment.topics.topicPrefix))
  return {
    facts: {
      ...{ submissions: load.submissions, ...log, calls: sink.calls, views: viewer.views, finalJobs, zombieWindows },
      unexpectedExits: services.unexpectedExits(),
    },
    applied,
    recoveryMs,
    outputs: outputsOf(services),
  }
}

const namesOf = (counts: Readonly<Record<ServiceKind, number>>): readonly string[] =>
  Object.entries(counts).flatMap(([kind, count]) => Array.from({ length: count }, (_, index) => `${kind}-${index}`))

const portsOf = ({ kafka, mongodb }: Cluster): readonly number[] =>
  [...kafka.brokers, ...mongodb.members].map((address) => Number(address.split(':').at(-1)))

const outputsOf = ({ services }: ServiceGroup): ReadonlyMap<string, string> =>
  new Map(services.map((service) => [service.name, service.output()]))

function environmentOf({ environment }: TestEnvironment, aiSystemUrl: string, proxies: Proxies | undefined) {
  return {
    ...environment,
    AI_SYSTEM_URL: aiSystemUrl,
    AI_SYSTEM_SIGNING_SECRET: signingSecret,
    CHUNK_SIZE: '20',
    ...(proxies && { NODE_OPTIONS: `--import ${preload}`, PROXY_PORTS: JSON.stringify(proxies.ports) }),
  }
}

async function applyAll(
  scene: Parameters<typeof applyFault>[1],
  { faults, onFault }: RunOptions,
): Promise<readonly AppliedFault[]> {
  const begin = performance.now()
  const results = await Promise.allSettled(
    faults.map(async (fault) => {
      await pauseFor(begin + fault.atMs - performance.now())
      onFault?.(fault)
      const from = Date.now()
      await applyFault(fault, scene)
      return { fault, from, to: Date.now() }
    }),
  )
  // Throws only when all faults have ended, because a later fault would restart services that this run has stopped.
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

const untilInSync = ({ kafka, mongodb }: Cluster) => Promise.all([kafka.untilInSync(), mongodb.untilInSync()])

type Settling = { readonly cluster: Cluster; readonly load: Load; readonly viewer: Viewer }

async function settle({ cluster, load, viewer }: Settling) {
  await untilInSync(cluster)
  const healedAt = performance.now()
  await load.stop(settleWithinMs)
  const finalJobs = await viewer.finalJobs(settleWithinMs)
  const recoveryMs = Math.round(performance.now() - healedAt)
  await viewer.stop()
  return { finalJobs, recoveryMs }
}
