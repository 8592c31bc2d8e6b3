import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDataDir } from '#infra/backing-services/data-dir.ts'
import { isRunning } from '#infra/backing-services/leftovers.ts'
import { secretsKey } from '#infra/start/secrets-key.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'

let path: string

beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'data-dir-'))
})
afterEach(() => rmSync(path, { recursive: true }))

test('an open data directory cannot be opened a second time; a closed one can', async () => {
  const dataDir = await openDataDir(path)
  await expect(openDataDir(path)).rejects.toThrow(`Another npm start (process ${process.pid}) is using ${path}`)
  dataDir.close()
  const again = await openDataDir(path)
  again.close()
  expect(existsSync(join(path, 'services.json'))).toBe(false)
})

test('the lock of a killed process is free immediately', async () => {
  const module = JSON.stringify(join(repositoryRoot, 'infra/backing-services/data-dir.ts'))
  const script = `import(${module}).then(async ({ openDataDir }) => {
    globalThis.kept = await openDataDir(${JSON.stringify(path)})
    console.log('open')
    setInterval(() => {}, 1000)
  })`
  const holder = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(holder.stdout, 'data')
  await expect(openDataDir(path)).rejects.toThrow(`process ${holder.pid}`)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  const dataDir = await openDataDir(path)
  dataDir.close()
})

test('damaged files are read as empty', async () => {
  for (const file of ['services.json', 'backing-services.json']) writeFileSync(join(path, file), '{')
  const dataDir = await openDataDir(path)
  expect(dataDir.choices()).toEqual({})
  dataDir.close()
})

test('opening a data directory ends its recorded processes, even a paused one, but no process with other arguments', async () => {
  const args = ['-e', 'setInterval(() => {}, 1000)']
  const [left, other] = [spawn(process.execPath, args), spawn(process.execPath, args)]
  const recorded = { pid: left.pid ?? 0, args }
  const reused = { pid: other.pid ?? 0, args: ['--port', '1'] }
  left.kill('SIGSTOP')
  const damaged = { pid: other.pid }
  writeFileSync(join(path, 'services.json'), JSON.stringify({ processes: { recorded, reused, damaged } }))
  const dataDir = await openDataDir(path)
  expect(isRunning(recorded)).toBe(false)
  expect(isRunning({ pid: reused.pid, args })).toBe(true)
  other.kill('SIGKILL')
  dataDir.close()
})

test('a server keeps its port from one start to the next while the port is free', async () => {
  const dataDir = await openDataDir(path)
  const port = await dataDir.portFor('kafka')
  expect(await dataDir.portFor('kafka')).toBe(port)
  const listener = createServer().listen(port, '127.0.0.1')
  await once(listener, 'listening')
  expect(await dataDir.portFor('kafka', true)).toBe(port)
  expect(await dataDir.portFor('kafka')).not.toBe(port)
  listener.close()
  dataDir.close()
})

test('the secrets key is created once, has 32 bytes and is readable only by its owner', () => {
  const key = secretsKey(path)
  expect(Buffer.from(key, 'base64')).toHaveLength(32)
  expect(secretsKey(path)).toBe(key)
  expect(statSync(join(path, 'secrets.key')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(path, 'secrets.key'), 'utf8').trim()).toBe(key)
})
