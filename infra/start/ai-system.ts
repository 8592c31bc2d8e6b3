import { dirname, join } from 'node:path'
import { isLeftRunning, portFor } from '../backing-services/remembered-ports.ts'
import { type Supervision, superviseChild } from '../backing-services/supervised-child.ts'

export type AiSystem = { readonly url: string; readonly stop: () => Promise<void> }

type Request = {
  readonly dataDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly program: string
  readonly supervision: Supervision
}

/** The AI system that AI_SYSTEM_URL names, else a simulated one on a free port of this machine. */
export async function startAiSystem({ dataDir, environment, program, supervision }: Request): Promise<AiSystem> {
  const given = environment.AI_SYSTEM_URL
  if (given !== undefined && given !== '') return { url: given, stop: async () => {} }
  const port = await portFor('ai-system', supervision.services, isLeftRunning('ai-system', supervision.services))
  const url = `http://127.0.0.1:${port}`
  const child = await superviseChild(
    {
      name: 'ai-system',
      title: 'The simulated AI system',
      command: process.execPath,
      args: [program, '--port', String(port)],
      cwd: dirname(program),
      logFile: join(dataDir, 'ai-system.log'),
      readyWithinMs: 20_000,
      stopWithinMs: 5_000,
      probe: () => probeAiSystem(url),
    },
    supervision,
  )
  supervision.services.setAddresses({ aiSystemUrl: url })
  return { url, stop: child.stop }
}

async function probeAiSystem(url: string): Promise<void> {
  const response = await fetch(`${url}/received`, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the simulated AI system answered ${response.status}`)
}
