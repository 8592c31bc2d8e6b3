import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runAsProcess } from '#infra/start/run-as-process.ts'
import { untilAborted } from '#shared/runtime/deadline.ts'
import { fixedDelay, retry, tryAgain } from '#shared/runtime/retry.ts'
import { isPaused } from '../child.ts'
import { openDataDir } from '../data-dir.ts'
import { type NativeServer, type ServerProgram, type StartContext, startServer } from '../native-server.ts'
import type { ClusterMessage, ClusterOptions, NodeAction, NodeRequest } from './cluster-options.ts'
import { kafkaPrograms } from './kafka-nodes.ts'
import { initiateReplicaSet, mongodbPrograms } from './mongodb-members.ts'

const stopWithinMs = 60_000
const send = (message: ClusterMessage): void => void process.send?.(message)

/** Starts the nodes and executes requests for single nodes. */
function controlNodes(context: StartContext) {
  const programs = new Map<string, ServerProgram>()
  const running = new Map<string, NativeServer>()

  const nodeOf = (name: string): NativeServer => {
    const node = running.get(name)
    if (node === undefined) throw new Error(`${name} is not a running node of this cluster.`)
    return node
  }
  async function start(name: string): Promise<void> {
    const program = programs.get(name)
    if (program === undefined) throw new Error(`${name} is not a node of this cluster.`)
    if (running.get(name)?.child.isRunning()) throw new Error(`${name} is running already.`)
    running.set(name, await startServer(program, context))
  }
  async function act(name: string, action: NodeAction): Promise<void> {
    if (action === 'start') return start(name)
    const { child, stop } = nodeOf(name)
    if (action === 'stop') return stop(stopWithinMs)
    child.kill(({ kill: 'SIGKILL', pause: 'SIGSTOP', resume: 'SIGCONT' } as const)[action])
    if (action === 'kill') await child.exited
    if (action !== 'pause') return
    await retry(async () => (isPaused(child.pid) ? undefined : tryAgain), { delays: fixedDelay(10, 5_000) })
  }
  return {
    async startAll(given: readonly ServerProgram[]) {
      for (const program of given) programs.set(program.name, program)
      const results = await Promise.allSettled(given.map(({ name }) => start(name)))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    },
    async obey({ id, node, action }: NodeRequest) {
      try {
        await act(node, action)
        send({ is: 'done', id, pid: running.get(node)?.child.pid ?? 0 })
      } catch (error) {
        send({ is: 'failed', id, reason: error instanceof Error ? error.message : String(error) })
      }
    },
    /** Kills all nodes, because a broker cannot shut down cleanly when the other brokers stop too. */
    async end() {
      const children = [...running.values()].map(({ child }) => child)
      for (const child of children) if (child.isRunning()) child.kill('SIGKILL')
      await Promise.all(children.map(({ exited }) => exited))
    },
  }
}

/** Runs the cluster of the `ClusterOptions` in the first argument, in a temporary directory, until the parent ends. */
await runAsProcess(async ({ say, signal }) => {
  const { kafka = {}, mongodb = {} }: ClusterOptions = JSON.parse(process.argv[2] ?? '{}')
  const dataDir = await openDataDir(mkdtempSync(join(tmpdir(), 'contact-import-cluster-')))
  const context = { dataDir, environment: process.env, say, signal, onCrash() {} }
  const nodes = controlNodes(context)
  try {
    const brokers = kafka === null ? [] : await kafkaPrograms(kafka, context)
    const members = mongodb === null ? [] : await mongodbPrograms(mongodb, context)
    await nodes.startAll([...brokers, ...members])
    const mongodbMembers = members.flatMap(({ addresses }) => addresses.mongodbUrl ?? [])
    if (mongodb !== null) await initiateReplicaSet(mongodbMembers, mongodb)
    process.on('message', (request: NodeRequest) => void nodes.obey(request))
    send({
      is: 'running',
      kafkaBrokers: brokers.flatMap(({ addresses }) => addresses.kafkaBrokers ?? []),
      mongodbMembers,
    })
    await untilAborted(signal)
  } finally {
    await nodes.end()
    dataDir.close()
    rmSync(dataDir.path, { recursive: true })
  }
})
