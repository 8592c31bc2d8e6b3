import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isInstalled, isNodeRecent } from '#infra/setup/install-state.mjs'

let root: string

const write = (path: string, packages: Record<string, { version: string; optional?: boolean }>) =>
  writeFileSync(join(root, path), JSON.stringify({ packages: { '': { version: '1.0.0' }, ...packages } }))

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'install-state-'))
  write('package-lock.json', { 'node_modules/a': { version: '1.2.3' } })
  mkdirSync(join(root, 'node_modules', 'a'), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true }))

test('a clone without node_modules does not count as installed', () => {
  rmSync(join(root, 'node_modules'), { recursive: true })
  expect(isInstalled(root)).toBe(false)
})

test('an installation without node_modules/.package-lock.json was interrupted and does not count as installed', () => {
  expect(isInstalled(root)).toBe(false)
  write('package-lock.json', { 'node_modules/b': { version: '1.0.0', optional: true } })
  expect(isInstalled(root)).toBe(false)
})

test('an installation with the versions of the lockfile counts as installed', () => {
  write('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.2.3' } })
  expect(isInstalled(root)).toBe(true)
})

test('an installation without a version or package of the lockfile does not count as installed', () => {
  write('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.2.3' } })
  write('package-lock.json', { 'node_modules/a': { version: '1.3.0' } })
  expect(isInstalled(root)).toBe(false)
  write('package-lock.json', { 'node_modules/a': { version: '1.2.3' }, 'node_modules/b': { version: '1.0.0' } })
  expect(isInstalled(root)).toBe(false)
})

test('an installation with a missing package folder does not count as installed', () => {
  write('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.2.3' } })
  rmSync(join(root, 'node_modules', 'a'), { recursive: true })
  expect(isInstalled(root)).toBe(false)
})

test('an optional package may be missing, but not have another version', () => {
  write('package-lock.json', { 'node_modules/b': { version: '1.0.0', optional: true } })
  write('node_modules/.package-lock.json', {})
  expect(isInstalled(root)).toBe(true)
  write('node_modules/.package-lock.json', { 'node_modules/b': { version: '0.9.0' } })
  expect(isInstalled(root)).toBe(false)
})

test.each([
  ['20.20.2', false],
  ['24.15.9', false],
  ['24.16.0', true],
  ['25.0.0', true],
])('Node %s is recent enough: %s', (version, recent) => {
  expect(isNodeRecent(version)).toBe(recent)
})
