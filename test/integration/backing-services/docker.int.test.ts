import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from '#infra/backing-services/child.ts'
import { eventually } from '#test/support/eventually.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'
import { startProject } from '#test/support/system/start-process.ts'

let project: Awaited<ReturnType<typeof startProject>>

beforeEach(async () => {
  project = await startProject()
})
afterEach(() => project.remove())

/** A PATH with a `docker` that runs these scripts for its commands and succeeds for all others. */
function pathWithDocker(commands: Record<string, string>): string {
  const bin = join(project.root, 'docker-bin')
  mkdirSync(bin)
  const cases = Object.entries(commands).map(([command, script]) => `${command}) ${script};;`)
  writeFileSync(join(bin, 'docker'), ['#!/bin/sh', 'case "$1" in', ...cases, 'esac', ''].join('\n'))
  chmodSync(join(bin, 'docker'), 0o755)
  return `${bin}${delimiter}${process.env.PATH}`
}

/** A Compose that starts nothing and, like the real one, refuses port 0; `calls` returns what it did. */
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

/** Makes a data directory whose last start used Docker. */
function chooseDocker() {
  mkdirSync(project.dataDir)
  writeFileSync(join(project.dataDir, 'backing-services.json'), JSON.stringify({ provider: 'docker' }))
}

test.each([
  ['is refused', 'echo "no such host" >&2; exit 1'],
  ['hangs', 'exec sleep 300'],
])('a pull that %s is followed within seconds by a start without Docker', async (_how, pull) => {
  const since = Date.now()
  const start = await project.start({ environment: { PATH: pathWithDocker({ image: 'exit 1', pull }) } })
  await start.until(/cannot be pulled/)
  expect(Date.now() - since).toBeLessThan(25_000)
  await start.until(/^ready /m)
  expect(project.choices().provider).toBe('native')
  start.kill('SIGINT')
  expect((await start.exited).code).toBe(0)
})

test('a data directory with its data in Docker is refused without Docker', async () => {
  chooseDocker()
  const start = await project.start({
    environment: { AI_SYSTEM_URL: 'http://127.0.0.1:1', DOCKER_HOST: 'unix:///nowhere.sock' },
  })
  expect((await start.exited).code).toBe(1)
  expect(start.output()).toMatch(/^The data of .* is in Docker, but .* is missing: start Docker, or .*\n$/)
})

test('Ctrl-C, pressed many times, does not interrupt Docker while it stops the containers', async () => {
  const { environment, calls } = fakeCompose()
  const start = await project.start({ environment })
  await eventually(() => expect(calls()).toEqual([expect.stringMatching(/^up \d+$/)]))
  start.kill('SIGINT')
  const pressing = setInterval(() => start.kill('SIGINT'), 100)
  expect((await start.exited).code).toBe(0)
  clearInterval(pressing)
  expect(calls().at(-1)).toBe('stopped')
})

test('a Ctrl-C that ends the command which stops the containers has that command repeated', async () => {
  const { environment, calls } = fakeCompose({ downHit: true })
  const start = await project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(1))
  start.kill('SIGINT')
  expect((await start.exited).code).toBe(0)
  expect(calls().slice(1)).toEqual(['hit', 'stopped'])
})

test('containers that a killed start left running keep their ports', async () => {
  const { environment, calls } = fakeCompose()
  const first = await project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(1))
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  const container = createServer().listen(Number(calls()[0]?.split(' ')[1]), '127.0.0.1')
  const second = await project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(2))
  expect(calls()[1]).toBe(calls()[0])
  second.kill('SIGINT')
  expect((await second.exited).code).toBe(0)
  container.close()
})

test('reset removes what a data directory has in Docker', async () => {
  const { environment, calls } = fakeCompose()
  chooseDocker()
  const reset = join(repositoryRoot, 'infra', 'start', 'reset.ts')
  const env = { ...environment, DATA_DIR: project.dataDir }
  const child = await startChild({ command: process.execPath, args: [reset], env })
  expect((await child.exited).code).toBe(0)
  expect(calls()).toEqual(['removed'])
  expect(existsSync(project.dataDir)).toBe(false)
})
