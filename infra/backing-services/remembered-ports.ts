import { freePort, isPortFree } from './ports.ts'
import { isRunning } from './process-mark.ts'
import type { ServicesFile } from './services-file.ts'

/**
 * The port of `name` in this data directory: the last one while it is free or `held` by what the last start
 * has left running, else a new one.
 */
export async function portFor(name: string, services: ServicesFile, held: boolean): Promise<number> {
  const { ports } = services.choices()
  const known = ports[name]
  if (known !== undefined && (held || (await isPortFree(known)))) return known
  const port = await freePort(Object.values(ports))
  services.remember({ ports: { ...services.choices().ports, [name]: port } })
  return port
}

/** Whether the last start has left this child running. */
export function isLeftRunning(child: string, services: ServicesFile): boolean {
  const left = services.read().processes[child]
  return left !== undefined && isRunning(left)
}
