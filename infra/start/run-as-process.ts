import { StartFault } from '../backing-services/start-fault.ts'

type Work = (context: { readonly say: (sentence: string) => void; readonly signal: AbortSignal }) => Promise<void>

/**
 * Runs `work` as what this process is for and ends the process after it: 0 when it ended by itself or by a signal (also a
 * repeated one: npm forwards what the terminal has sent already), 1 after a fault. Never returns.
 */
export async function runAsProcess(work: Work): Promise<never> {
  const stopping = new AbortController()
  let exitCode = 0
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())
  // A bug in a service must not leave its backing services behind.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      console.error(error)
      exitCode = 1
      stopping.abort()
    })
  }
  // Whoever reads our output may be gone before we are.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  // The children are in sessions of their own; nothing else may be left to keep this process running.
  setInterval(() => {}, 60_000)
  try {
    await work({ say: (sentence) => console.error(sentence), signal: stopping.signal })
  } catch (error) {
    if (!stopping.signal.aborted) {
      exitCode = 1
      console.error(isMendable(error) ? error.message : error)
    }
  }
  process.exit(exitCode)
}

/** Faults of the start and of the configuration say in their message what to do. */
function isMendable(error: unknown): error is Error {
  if (error instanceof StartFault) return true
  return error instanceof Error && 'code' in error && error.code === 'config_invalid'
}
