import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir, lockHolder } from '#infra/backing-services/data-dir-lock.ts'
import { secretsKey } from '#infra/start/secrets-key.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'data-dir-'))
})
afterEach(() => rmSync(dataDir, { recursive: true }))

test('a held data directory is refused, a released one is not', () => {
  const release = lockDataDir(dataDir)
  expect(() => lockDataDir(dataDir)).toThrow(`A start (process ${process.pid}) is already using ${dataDir}`)
  expect(lockHolder(dataDir)?.pid).toBe(process.pid)
  release()
  lockDataDir(dataDir)()
  expect(existsSync(join(dataDir, 'start.lock'))).toBe(false)
})

test.each([
  ['a process that had the same pid', JSON.stringify({ pid: process.pid, startedAt: 'earlier' })],
  ['nobody, as it was damaged', '{'],
])('the lock of %s is taken over', (_holder, content) => {
  writeFileSync(join(dataDir, 'start.lock'), content)
  lockDataDir(dataDir)()
})

test('the secrets key is made once, 32 bytes, for its owner alone', () => {
  const key = secretsKey(dataDir)
  expect(Buffer.from(key, 'base64')).toHaveLength(32)
  expect(secretsKey(dataDir)).toBe(key)
  expect(statSync(join(dataDir, 'secrets.key')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(dataDir, 'secrets.key'), 'utf8').trim()).toBe(key)
})
