import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { afterThisTest, httpServing } from '#test/support/http/servers.ts'

const main = new URL('../../../infra/ai-system/main.ts', import.meta.url).pathname

function run(...args: string[]) {
  const child = spawn(process.execPath, [main, ...args])
  afterThisTest(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (text) => {
    output.stdout += text
  })
  child.stderr.on('data', (text) => {
    output.stderr += text
  })
  return { child, output, exited: once(child, 'close').then(([code]) => code) }
}

describe('npm run ai-system', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    'prints one line with its URL and ends with exit code 0 on %s',
    async (signal) => {
      const { child, output, exited } = run('--port', '0')
      const url = await eventually(() => {
        const found = /^AI system \(simulated\) listens on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(output.stdout)?.[1]
        if (!found) throw new Error(`ai-system has not printed its URL: ${output.stderr}`)
        return found
      })
      expect(await (await fetch(`${url}/received`)).json()).toMatchObject({ requests: 0 })
      child.kill(signal)
      expect([await exited, output.stderr]).toEqual([0, ''])
    },
  )

  test('reports wrong arguments with the usage', async () => {
    const { output, exited } = run('--port', 'http')
    expect(await exited).toBe(1)
    expect(output.stderr).toMatch(/^ai-system was not started\.\s+--port must be .*\nUsage: .*\n$/)
  })

  test('reports that its port is in use', async () => {
    const { port } = await httpServing((_request, response) => response.end())
    const { output, exited } = run('--port', String(port))
    expect(await exited).toBe(1)
    expect(output.stderr).toContain(`Port ${port} is in use by another program`)
    expect(output.stderr).not.toContain('HTTP_PORT')
  })
})
