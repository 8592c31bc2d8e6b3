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

/** A PATH with a fake `docker` that runs one script per command. All other commands succeed. */
function pathWithDocker(commands: Record<string, string>): string {
  const bin = join(project.root, 'docker-bin')
  mkdirSync(bin)
  const cases = Object.entries(commands).map(([command, script]) => `${command}) ${script};;`)
  writeFileSync(join(bin, 'docker'), ['#!/bin/sh', 'case "$1" in', ...cases, 'esac', ''].join('\n'))
  chmodSync(join(bin, 'docker'), 0o755)
  return `${bin}${delimiter}${process.env.PATH}`
}

/** A fake Compose that starts nothing and, like the real one, rejects port 0. `calls` lists the executed commands. */
function fakeCompose({ interruptDown = false } = {}) {
  const log = join(project.root, 'docker-calls')
  const interruptOnce = `if ! grep -q interrupted '${log}'; then echo interrupted >> '${log}'; kill -INT $$; fi;`
  const script = [
    'if [ "$2" = version ]; then exit 0; fi',
    'if [ "$KAFKA_PORT" = 0 ]; then echo "ports.[0] is missing a target port" >&2; exit 1; fi',
    'case " $* " in',
    '*" ps "*) echo 0123456789ab;;',
    `*" up "*) echo "up $KAFKA_PORT" >> '${log}';;`,
    `*" down --volumes "*) echo 'removed' >> '${log}';;`,
    `*" down "*) ${interruptDown ? interruptOnce : ''} sleep 1; echo 'stopped' >> '${log}';;`,
    'esac',
  ]
  return {
    environment: { PATH: pathWithDocker({ compose: script.join('\n') }), AI_SYSTEM_URL: 'http://127.0.0.1:1' },
    calls: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []),
  }
}

function chooseDocker() {
  mkdirSync(project.dataDir)
  writeFileSync(join(project.dataDir, 'backing-services.json'), JSON.stringify({ provider: 'docker' }))
}

test.each([
  ['is refused', 'echo "no such host" >&2; exit 1'],
  ['hangs', 'exec sleep 300'],
])('after a pull that %s, npm start continues without Docker within 25 s', async (_how, pull) => {
  const since = Date.now()
  const start = await project.start({ environment: { PATH: pathWithDocker({ image: 'exit 1', pull }) } })
  await start.until(/cannot be pulled/)
  expect(Date.now() - since).toBeLessThan(25_000)
  await start.until(/^ready /m)
  expect(project.choices().provider).toBe('native')
  start.kill('SIGINT')
  expect((await start.exited).code).toBe(0)
})

test('npm start fails without Docker when the data directory has its data in Docker', async () => {
  chooseDocker()
  const start = await project.start({
    environment: { AI_SYSTEM_URL: 'http://127.0.0.1:1', DOCKER_HOST: 'unix:///nowhere.sock' },
  })
  expect((await start.exited).code).toBe(1)
  expect(start.output()).toMatch(/^The data of .* is in Docker, but .* is missing: start Docker, or .*\n$/)
})

test('repeated Ctrl-C does not interrupt the docker command that stops the containers', async () => {
  const { environment, calls } = fakeCompose()
  const start = await project.start({ environment })
  await eventually(() => expect(calls()).toEqual([expect.stringMatching(/^up \d+$/)]))
  start.kill('SIGINT')
  const pressing = setInterval(() => start.kill('SIGINT'), 100)
  expect((await start.exited).code).toBe(0)
  clearInterval(pressing)
  expect(calls().at(-1)).toBe('stopped')
})

test('npm start repeats the docker command that stops the containers when Ctrl-C ended that command', async () => {
  const { environment, calls } = fakeCompose({ interruptDown: true })
  const start = await project.start({ environment })
  await eventually(() => expect(calls()).toHaveLength(1))
  start.kill('SIGINT')
  expect((await start.exited).code).toBe(0)
  expect(calls().slice(1)).toEqual(['interrupted', 'stopped'])
})

test('after a kill, the next start uses the ports of the containers that still run', async () => {
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

test('npm run reset removes the Docker volumes of a data directory', async () => {
  const { environment, calls } = fakeCompose()
  chooseDocker()
  const reset = join(repositoryRoot, 'infra', 'start', 'reset.ts')
  const env = { ...environment, DATA_DIR: project.dataDir }
  const child = await startChild({ command: process.execPath, args: [reset], env })
  expect((await child.exited).code).toBe(0)
  expect(calls()).toEqual(['removed'])
  expect(existsSync(project.dataDir)).toBe(false)
})
