import { dirname } from 'node:path'
import { type NativeServer, type StartContext, startServer } from '../backing-services/native-server.ts'

export type AiSystem = Pick<NativeServer, 'stop'> & { readonly url: string }

/** Uses the AI system of AI_SYSTEM_URL. Without that variable, starts the simulated AI system from the file `program`. */
export async function startAiSystem(program: string, context: StartContext): Promise<AiSystem> {
  const { dataDir, environment } = context
  if (environment.AI_SYSTEM_URL) return { url: environment.AI_SYSTEM_URL, stop: async () => {} }
  const port = await dataDir.portFor('ai-system')
  const url = `http://127.0.0.1:${port}`
  const { stop } = await startServer(
    {
      name: 'ai-system',
      title: 'The simulated AI system',
      command: process.execPath,
      args: [program, '--port', String(port)],
      cwd: dirname(program),
      addresses: {},
      async probe() {
        const { ok, status } = await fetch(`${url}/received`, { signal: AbortSignal.timeout(2_000) })
        if (!ok) throw new Error(`The simulated AI system answered ${status}.`)
      },
    },
    context,
  )
  dataDir.record({ aiSystemUrl: url })
  return { url, stop }
}
