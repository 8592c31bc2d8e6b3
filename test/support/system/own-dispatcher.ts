import { type DispatcherPorts, dispatcherParts } from '#services/dispatcher/compose.ts'
import { loadDispatcherConfig } from '#services/dispatcher/config.ts'
import { createLifecycle } from '#shared/runtime/lifecycle.ts'
import type { Log, LogFields } from '#shared/runtime/log.ts'

export type OwnDispatcher = {
  readonly lines: readonly { readonly message: string; readonly fields: LogFields }[]
  stop(): Promise<void>
}

/** Starts a dispatcher in this process, without its HTTP server. `instrument` can wrap the ports. */
export async function startOwnDispatcher(
  environment: Readonly<Record<string, string>>,
  instrument: (ports: DispatcherPorts) => DispatcherPorts = (ports) => ports,
): Promise<OwnDispatcher> {
  const lines: { message: string; fields: LogFields }[] = []
  const write = (fields: LogFields, message: string) => void lines.push({ message, fields })
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const lifecycle = createLifecycle({ log })
  await lifecycle.start(dispatcherParts(loadDispatcherConfig(environment), log, instrument).parts)
  return { lines, stop: () => lifecycle.stop() }
}
