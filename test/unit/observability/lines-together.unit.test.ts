import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { linesTogether } from '#shared/observability/lines-together.ts'
import { createLog } from '#shared/observability/log.ts'

const line = (message: string, level = 'info') => `{"level":"${level}","msg":"${message}"}\n`

describe('log lines that leave together', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  function started() {
    const writes: string[] = []
    return { writes, lines: linesTogether({ write: (text) => writes.push(text) }) }
  }

  test('info lines of 10 ms are one write, in their order', () => {
    const { writes, lines } = started()
    lines.write(line('a'))
    vi.advanceTimersByTime(9)
    lines.write(line('b'))
    expect(writes).toEqual([])
    vi.advanceTimersByTime(1)
    lines.write(line('c'))
    vi.advanceTimersByTime(10)
    expect(writes).toEqual([line('a') + line('b'), line('c')])
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each(['warn', 'error', 'debug'])('a line of level %s leaves at once, after those that waited', (level) => {
    const { writes, lines } = started()
    lines.write(line('a'))
    lines.write(line('b', level))
    expect(writes).toEqual([line('a') + line('b', level)])
    vi.advanceTimersByTime(100)
    expect(writes).toHaveLength(1)
  })

  test('more than 64 KiB do not wait', () => {
    const { writes, lines } = started()
    const long = line('x'.repeat(40_000))
    lines.write(long)
    lines.write(long)
    expect(writes).toEqual([long + long])
  })

  test('what waits is written on exit, and nothing listens for the exit afterwards', () => {
    const { writes, lines } = started()
    const listening = process.listenerCount('exit')
    lines.write(line('last'))
    const [atExit] = process.listeners('exit').slice(listening)
    atExit?.(0)
    expect(writes).toEqual([line('last')])
    expect(process.listenerCount('exit')).toBe(listening)
  })

  test('are the lines of a log, which begin as expected here', () => {
    const { writes, lines } = started()
    const log = createLog({ level: 'info', service: 'test', destination: lines })
    log.info({ a: 1 }, 'first')
    log.child({ b: 2 }).info({}, 'second')
    expect(writes).toEqual([])
    log.error({}, 'third')
    expect(writes.map((text) => text.trim().split('\n').length)).toEqual([3])
  })
})
