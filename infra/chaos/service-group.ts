import { setTimeout as wait } from 'node:timers/promises'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'
import type { ServiceKind } from './fault.ts'

export type Service = {
  readonly name: string
  readonly kind: ServiceKind
  /** Null while the process does not run. */
  url(): string | null
  /** Everything that all processes of this service wrote. */
  output(): string
  kill(): Promise<void>
  /** SIGTERM. */
  stop(): Promise<void>
  pause(): void
  resume(): void
  start(): Promise<void>
}

export type ServiceGroup = {
  readonly services: readonly Service[]
  unexpectedExits(): readonly string[]
  stop(): Promise<void>
}

type Options = {
  readonly counts: Readonly<Record<ServiceKind, number>>
  environmentOf(name: string): Readonly<Record<string, string>>
}

const restartAfterMs = 500

/** Starts the processes. A process that ends by itself is recorded and started again, as a supervisor would. */
export async function startServices({ counts, environmentOf }: Options): Promise<ServiceGroup> {
  const exits: string[] = []
  const kinds = Object.entries(counts) as [ServiceKind, number][]
  const services = kinds.flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, index) => {
      const name = `${kind}-${index}`
      return createService({ name, kind, environment: environmentOf(name), onExit: (exit) => void exits.push(exit) })
    }),
  )
  const killAll = () => {
    for (const service of services) void service.kill()
  }
  process.once('exit', killAll)
  const stop = async () => {
    await Promise.all(services.map((service) => service.stop()))
    process.off('exit', killAll)
  }
  try {
    await Promise.all(services.map((service) => service.start()))
  } catch (error) {
    await stop()
    throw error
  }
  return { services, unexpectedExits: () => exits, stop }
}

type ServiceOptions = {
  readonly name: string
  readonly kind: ServiceKind
  readonly environment: Readonly<Record<string, string>>
  readonly onExit: (exit: string) => void
}

type Phase =
  | { readonly is: 'down' }
  | { readonly is: 'starting'; readonly started: Promise<ServiceProcess> }
  | { readonly is: 'up'; readonly process: ServiceProcess }

function createService({ name, kind, environment, onExit }: ServiceOptions): Service {
  let phase: Phase = { is: 'down' }
  const earlier: string[] = []

  async function start(): Promise<void> {
    if (phase.is !== 'down') return
    const started = startServiceProcess(`services/${kind}/main.ts`, environment)
    phase = { is: 'starting', started }
    const process = await started
    phase = { is: 'up', process }
    process.exited.then((code) => {
      earlier.push(process.output())
      if (phase.is !== 'up' || phase.process !== process) return
      phase = { is: 'down' }
      onExit(`${name} (exit code ${code}, last line: ${lastLineOf(process.output())})`)
      void wait(restartAfterMs).then(start)
    })
  }
  const current = () => (phase.is === 'up' ? phase.process : null)
  /** Returns the running process, whose exit is then not recorded as unexpected. */
  function release(): ServiceProcess | null {
    const process = current()
    if (process !== null) phase = { is: 'down' }
    return process
  }
  return {
    name,
    kind,
    url: () => current()?.url ?? null,
    output: () => [...earlier, current()?.output() ?? ''].join(''),
    async kill() {
      const process = release()
      process?.kill('SIGKILL')
      await process?.exited
    },
    async stop() {
      if (phase.is === 'starting') await phase.started.catch(() => {})
      const process = release()
      const code = process === null ? 0 : await process.stop()
      if (code !== 0) onExit(`${name} (exit code ${code} after SIGTERM)`)
    },
    pause: () => current()?.kill('SIGSTOP'),
    resume: () => current()?.kill('SIGCONT'),
    start,
  }
}

const lastLineOf = (output: string): string => output.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? ''
