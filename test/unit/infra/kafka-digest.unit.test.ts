import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { digestOf } from '#infra/backing-services/kafka-install.ts'

let directory: string
const jar = (name: string) => join(directory, name)

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kafka-digest-'))
  writeFileSync(jar('kafka.jar'), 'broker')
  writeFileSync(jar('Zookeeper.jar'), 'client')
})
afterEach(() => rmSync(directory, { recursive: true }))

test('the digest is the SHA-256 of the output of sha256sum', () => {
  const lines = execFileSync('sh', ['-c', 'LC_ALL=C; export LC_ALL; sha256sum * | sha256sum'], { cwd: directory })
  expect(lines.toString()).toBe(`${digestOf(directory)}  -\n`)
})

test.each([
  ['changed', () => appendFileSync(jar('kafka.jar'), '.')],
  ['missing', () => rmSync(jar('kafka.jar'))],
  ['added', () => writeFileSync(jar('other.jar'), '')],
])('a jar that was %s changes the digest', (_, change) => {
  const before = digestOf(directory)
  change()
  expect(digestOf(directory)).not.toBe(before)
})
