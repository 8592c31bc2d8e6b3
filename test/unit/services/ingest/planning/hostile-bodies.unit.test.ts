import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { hostileBodies } from '#test/support/builders/hostile-bodies.ts'

/** The modules alone need about 40 MiB. */
const heapMiB = 96

it('a heap of 96 MiB is enough to plan every allowed body of 2 MiB', async () => {
  const fixture = join(import.meta.dirname, 'fixtures/plan-hostile-bodies.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [`--max-old-space-size=${heapMiB}`, fixture])
  expect(stdout.trim().split('\n')).toEqual(Object.keys(hostileBodies).map((name) => `${name}: planned,planned`))
}, 120_000)
