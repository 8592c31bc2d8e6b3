import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdsEverything, installState, isNodeRecent, stampInstall } from '#infra/setup/install-state.mjs'

let root: string
const write = (path: string, value: unknown) => writeFileSync(join(root, path), JSON.stringify(value))
const lockfile = { packages: { '': { version: '1.0.0' }, 'node_modules/a': { version: '1.2.3' } } }

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'install-state-'))
  write('package-lock.json', lockfile)
})
afterEach(() => rmSync(root, { recursive: true }))

test('a clone without node_modules is outdated', () => {
  expect(installState(root)).toBe('outdated')
})

test('an install that was interrupted is outdated: npm has not recorded it', () => {
  mkdirSync(join(root, 'node_modules', 'a'), { recursive: true })
  expect(installState(root)).toBe('outdated')
})

test('an install by hand is taken as it is, once it is stamped', () => {
  mkdirSync(join(root, 'node_modules'))
  write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.2.3' } } })
  expect(installState(root)).toBe('unstamped')
  stampInstall(root)
  expect(installState(root)).toBe('current')
})

test('another lockfile makes a stamped install outdated', () => {
  mkdirSync(join(root, 'node_modules'))
  write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.2.3' } } })
  stampInstall(root)
  write('package-lock.json', { packages: { 'node_modules/a': { version: '1.3.0' } } })
  expect(installState(root)).toBe('outdated')
})

test('a package for another platform may be absent, any other may not', () => {
  const optional = { packages: { 'node_modules/b': { version: '1.0.0', optional: true } } }
  expect(holdsEverything(optional, { packages: {} })).toBe(true)
  expect(holdsEverything(optional, { packages: { 'node_modules/b': { version: '0.9.0' } } })).toBe(false)
  expect(holdsEverything(lockfile, { packages: {} })).toBe(false)
})

test.each([
  ['20.20.2', false],
  ['24.15.9', false],
  ['24.16.0', true],
  ['25.0.0', true],
])('Node %s is recent enough: %s', (version, recent) => {
  expect(isNodeRecent(version)).toBe(recent)
})
