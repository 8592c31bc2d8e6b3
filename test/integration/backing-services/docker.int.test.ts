import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '#test/support/eventually.ts'
import { startProject } from '#test/support/system/start-process.ts'

let project: Awaited<ReturnType<typeof startProject>>

beforeEach(async () => {
  project = await startProject()
})
afterEach(() => project.remove())

/** A PATH with this `docker` in front; without `$1` being one of these commands it only succeeds. */
function pathWithDocker(commands: Record<string, string>): string {
  const bin = join(project.root, 'docker-bin')
  mkdirSync(bin)
  const cases = Object.entries(commands).map(([command, script]) => `${command}) ${script};;`)
  writeFileSync(join(bin, 'docker'), ['#!/bin/sh', 'case "$1" in', ...cases, 'esac', ''].join('\n'))
  chmodSync(join(bin, 'docker'), 0o755)
  return `${bin}${delimiter}${process.env.PATH}`
}

/** A Compose that starts nothing and, like the real one, refuses port 0; `calls` tells what it was asked and did. */
function fakeCompose({ downHit = false } = {}) {
  const log = join(project.root, 'docker-calls')
  const hit = `if ! grep -q hit '${log}'; then echo hit >> '${log}'; kill -INT $$; fi;`
  const script = [
    'if [ "$2" = version ]; then exit 0; fi',
    'if [ "$KAFKA_PORT" = 0 ]; then echo "ports.[0] is missing a target port" >&2; exit 1; fi',
    'case " $* " in',
    '*" ps "*) echo 0123456789ab;;',
    `*" up "*) echo "up $KAFKA_PORT" >> '${log}';;`,
    `*" down --volumes "*) echo 'removed' >> '${log}';;`,
    `*" down "*) ${downHit ? hit : ''} sleep 1; echo 'stopped' >> '${log}';;`,
    'esac',
  ]
  return {
    environment: { PATH: pathWithDocker({ compose: script.join('\n') }), AI_SYSTEM_URL: 'http://127.0.0.1:1' },
    calls: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  }
}

test.each([
  ['is refused', 'echo "no such host" >&2; exit 1'],
  ['hangs without a word', 'exec sleep 300'],
])('a pull that %s falls through to processes of this machine within seconds', async (_how, pull) => {
  const since = Date.now()
  const start = project.start({ environment: { PATH: pathWithDocker({ image: 'exit 1', pull }) } })
  await start.until(/cannot be pulled; going on without Docker/)
  expect(Date.now() - since).toBeLessThan(25_000)
  await start.until(/^ready /m)
  expect(project.services.choices().provider).toBe('native')
  start.signalGroup('SIGINT')
  expect(await start.exited).toBe(0)
})

test('a data directory that began with Docker is not silently begun anew without it', async () => {
  project.services.remember({ provider: 'docker' })
  const start = project.start({
    environment: { AI_SYSTEM_URL: 'http://127.0.0.1:1', DOCKER_HOST: 'unix:///nowhere.sock' },
  })
  expect(await start.exited).toBe(1)
  expect(start.output()).toMatch(/^The data of .* is in Docker, which does not answer or .*: start Docker, or .*\n$/)
})

test('Ctrl-C, however often it is pressed, lets Docker stop the containers to the end', async () => {
  const { environment, calls } = fakeCompose()
  const start = project.start({ environment })
  await eventually(() => expect(calls()).toEqual([expect.stringMatching(/^up \d+$/)]))
  start.signalGroup('SIGINT')
  const pressing = setInterval(() => start.signalGroup('SIGINT'), 100)
  expect(await start.exited).toBe(0)
  clearInterval(pressing)
  expect(calls().at(-1)).toBe('stopped')
})

test('a Ctrl-C that still meets the command which stops the containers does not leave them running', async () => {
  const { environment, calls } = fakeCompose({ downHit: true })
  const start = project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(1))
  start.signalGroup('SIGINT')
  expect(await start.exited).toBe(0)
  expect(calls().slice(1)).toEqual(['hit', 'stopped'])
})

test('containers that a killed start has left running keep their ports', async () => {
  const { environment, calls } = fakeCompose()
  const first = project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(1))
  process.kill(first.pid(), 'SIGKILL')
  await first.exited
  const container = createServer().listen(Number(calls()[0]?.split(' ')[1]), '127.0.0.1')
  const second = project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(2))
  expect(calls()[1]).toBe(calls()[0])
  second.signalGroup('SIGINT')
  expect(await second.exited).toBe(0)
  container.close()
})

test('reset removes what a data directory has in Docker', async () => {
  const { environment, calls } = fakeCompose()
  project.services.remember({ provider: 'docker' })
  const reset = join(import.meta.dirname, '..', '..', '..', 'infra', 'setup', 'reset.mjs')
  const env = { ...process.env, ...environment, DATA_DIR: project.dataDir }
  const child = spawn(process.execPath, [reset], { env, stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
  expect(calls()).toEqual(['removed'])
  expect(existsSync(project.dataDir)).toBe(false)
})
