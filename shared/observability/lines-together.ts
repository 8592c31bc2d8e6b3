import { destination } from 'pino'

/** Where finished lines go. */
export type LineSink = { write(lines: string): void }

const togetherMs = 10
const longestTogether = 64 * 1024
/** As pino begins a line that may wait. Others leave at once, with those that waited before them. */
const mayWait = '{"level":"info"'

/**
 * Lines of 10 ms leave in one write: a system call for each costs more than the line itself. What waits is written when
 * the process exits, for whatever reason it does so itself; a kill can take the last 10 ms of info lines with it.
 */
export function linesTogether(sink: LineSink = destination({ dest: 1, sync: true })): LineSink {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined

  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    process.off('exit', flush)
    const lines = waiting
    waiting = ''
    sink.write(lines)
  }
  return {
    write(line) {
      waiting += line
      if (!line.startsWith(mayWait) || waiting.length > longestTogether) flush()
      else if (timer === undefined) {
        timer = setTimeout(flush, togetherMs)
        process.on('exit', flush)
      }
    },
  }
}
