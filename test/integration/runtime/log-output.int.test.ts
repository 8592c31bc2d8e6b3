import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const fixture = fileURLToPath(new URL('fixtures/logging.ts', import.meta.url))

const messagesBefore = (ending: string): Promise<readonly string[]> =>
  new Promise((resolve) => {
    execFile(process.execPath, [fixture, ending], (_error, stdout) => {
      const lines = stdout.trimEnd().split('\n')
      resolve(lines.map((line): string => JSON.parse(line).msg))
    })
  })

describe('log lines on stdout', () => {
  test.each(['exit', 'uncaught exception', 'unhandled rejection', 'return', 'kill after 1 s'])(
    'all lines are written before the process ends by: %s',
    async (ending) => expect(await messagesBefore(ending)).toEqual(new Array(1_000).fill('line')),
  )

  test('a warning and all lines before it are written at once', async () => {
    const messages = await messagesBefore('kill after a warning')
    expect(messages).toHaveLength(1_001)
    expect(messages.at(-1)).toBe('warning')
  })

  test('a closed pipe neither stops nor crashes the process', async () => {
    const child = spawn(process.execPath, [fixture, 'exit'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    expect(await once(child, 'close')).toEqual([3, null])
  })
})
