import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '#test/support/eventually.ts'

const children: ChildProcess[] = []

function run(env: Record<string, string>) {
  const child = spawn(process.execPath, [new URL('fixtures/process.ts', import.meta.url).pathname], {
    env: { PATH: process.env.PATH, HTTP_PORT: '0', ...env },
  })
  children.push(child)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (text) => {
    output.stdout += text
  })
  child.stderr.on('data', (text) => {
    output.stderr += text
  })
  const exited = once(child, 'close').then(([code]) => code)
  return { child, output, exited, ready: () => eventually(() => expect(output.stdout).toContain('ready')) }
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

describe('a process', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('exits with code 0 after an orderly stop on %s', async (signal) => {
    const { child, output, exited, ready } = run({})
    await ready()
    child.kill(signal)
    expect(await exited).toBe(0)
    expect(output.stdout).toContain('stopped in order')
    expect(output.stdout).toMatch(/"msg":"stopped"}\n$/)
    expect(output.stderr).toBe('')
  })

  test('ignores the repeated signal that npm sends', async () => {
    const { child, output, exited, ready } = run({})
    await ready()
    child.kill('SIGINT')
    await eventually(() => expect(output.stdout).toContain('"signal":"SIGINT"'))
    child.kill('SIGINT')
    expect(await exited).toBe(0)
    expect(output.stdout).toContain('stopped in order')
  })

  test('exits with code 1 when a part could not be stopped', async () => {
    const { child, exited, ready } = run({ STOP_FAILS: 'yes' })
    await ready()
    child.kill('SIGTERM')
    expect(await exited).toBe(1)
  })

  test('prints every fault of the configuration without a stack trace', async () => {
    const { output, exited } = run({ HTTP_PORT: 'eighty', LOG_LEVEL: 'loud' })
    expect(await exited).toBe(1)
    expect(output.stderr).toMatch(/^fixture was not started\. There are 2 faults.*\n.*HTTP_PORT.*\n.*LOG_LEVEL.*\n$/)
    expect(output.stdout).toBe('')
  })

  test('prints in one sentence why it could not start', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const { output, exited } = run({ HTTP_PORT: String(port) })
    expect(await exited).toBe(1)
    expect(output.stderr).toMatch(/^fixture could not start: server: the port is in use .*HTTP_PORT.*\n$/)
    taken.close()
  })

  test('ends itself when its event loop is blocked, but not when it was suspended for as long', async () => {
    const [blocked, suspended] = [run({ LOOP: 'microtasks' }), run({})]
    await Promise.all([blocked.ready(), suspended.ready()])
    suspended.child.kill('SIGSTOP')
    blocked.child.kill('SIGUSR2')
    await blocked.exited
    expect(blocked.child.signalCode).toBe('SIGKILL')
    const lastLine = blocked.output.stdout.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(lastLine)).toMatchObject({
      level: 'fatal',
      service: 'fixture',
      msg: 'The event loop has not turned for 3 s. The process ends itself, so that its supervisor restarts it.',
    })

    suspended.child.kill('SIGCONT')
    suspended.child.kill('SIGUSR2')
    await eventually(() => expect(suspended.output.stdout).toContain('the event loop turns'))
    const next = run({ LOOP: 'microtasks' })
    await next.ready()
    next.child.kill('SIGUSR2')
    await next.exited
    suspended.child.kill('SIGTERM')
    expect(await suspended.exited).toBe(0)
  })
})
