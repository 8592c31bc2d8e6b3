import { StartFault } from '../backing-services/start-fault.ts'

type Work = (context: { readonly say: (sentence: string) => void; readonly signal: AbortSignal }) => Promise<void>

/**
 * Runs `work`, then ends the process. SIGINT, SIGTERM, SIGHUP and the end of the parent process abort `signal`. The exit
 * code is 0, unless `work` rejects before the abort or sets `process.exitCode`.
 */
export async function runAsProcess(work: Work): Promise<never> {
  const stopping = new AbortController()
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'] as const) process.on(event, () => stopping.abort())
  // An uncaught error must not end the process while its children run.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      console.error(error)
      process.exitCode = 1
      stopping.abort()
    })
  }
  // Ignore EPIPE: the program that reads the output may end before this process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  setInterval(() => {}, 60_000)
  try {
    await work({ say: (sentence) => console.error(sentence), signal: stopping.signal })
  } catch (error) {
    if (!stopping.signal.aborted) {
      process.exitCode = 1
      console.error(isUserFault(error) ? error.message : error)
    }
  }
  process.exit()
}

const isUserFault = (error: unknown): error is Error =>
  error instanceof StartFault || (error instanceof Error && 'code' in error && error.code === 'config_invalid')
