import { expect, test } from 'vitest'
import { planTests } from '#infra/setup/test-plan.mjs'

const files = [
  'test/unit/domain/phone.unit.test.ts',
  'test/unit/services/ingest/planner.unit.test.ts',
  'test/integration/services/ingest/shutdown.int.test.ts',
  'test/e2e/readme.e2e.test.ts',
  'test/ops/pages.ops.test.ts',
]
const all = (...names: string[]) => names.map((name) => ({ name, files: [] }))
const plan = (...args: string[]) => planTests(args, files)
const defaults = { is: 'run', checks: false, watch: false, testName: undefined, full: false }

test('no argument runs the checks and every tier except ops', () => {
  expect(plan()).toEqual({ ...defaults, checks: true, tiers: all('unit', 'integration', 'e2e') })
})

test('--full runs everything with all cases of the property tests', () => {
  expect(plan('--full')).toMatchObject({ checks: true, full: true, tiers: all('unit', 'integration', 'e2e') })
})

test('a pattern runs the files whose path contains it, without the checks', () => {
  const tiers = [{ name: 'unit', files: ['test/unit/domain/phone.unit.test.ts'] }]
  expect(plan('phone')).toEqual({ ...defaults, tiers })
  expect(plan('PHONE')).toEqual({ ...defaults, tiers })
  expect(plan('./test/unit/domain')).toEqual({ ...defaults, tiers })
})

test('only tiers with matching files run, so that a unit test starts neither Kafka nor MongoDB', () => {
  expect(plan('services/ingest')).toMatchObject({
    tiers: [
      { name: 'unit', files: ['test/unit/services/ingest/planner.unit.test.ts'] },
      { name: 'integration', files: ['test/integration/services/ingest/shutdown.int.test.ts'] },
    ],
  })
})

test('several patterns run the files that contain one of them', () => {
  expect(plan('phone', 'readme')).toMatchObject({
    tiers: [
      { name: 'unit', files: ['test/unit/domain/phone.unit.test.ts'] },
      { name: 'e2e', files: ['test/e2e/readme.e2e.test.ts'] },
    ],
  })
})

test('-t selects tests by name, in all files or in matching files', () => {
  expect(plan('-t', 'E.164')).toEqual({ ...defaults, testName: 'E.164', tiers: all('unit', 'integration', 'e2e') })
  expect(plan('phone', '-t', 'E.164')).toMatchObject({ testName: 'E.164', tiers: [{ name: 'unit' }] })
})

test('--watch runs the unit tests, or the files that match', () => {
  expect(plan('--watch')).toEqual({ ...defaults, watch: true, tiers: all('unit') })
  expect(plan('--watch', 'shutdown')).toMatchObject({ watch: true, tiers: [{ name: 'integration' }] })
})

test('--ops runs only the ops tests', () => {
  expect(plan('--ops')).toEqual({ ...defaults, tiers: all('ops') })
})

test.each([
  ['a pattern that matches no file', ['phoen'], 'path that contains "phoen"'],
  ['one of several patterns that matches no file', ['phone', 'x1', 'x2'], '"x1" or "x2"'],
  ['a pattern of another command', ['pages'], 'path that contains "pages"'],
  ['an unknown option', ['--fast'], 'Usage: npm test'],
  ['-t without a name', ['-t'], 'Usage: npm test'],
])('%s is refused with a message', (_, args, sentence) => {
  expect(plan(...args)).toEqual({ is: 'refused', reason: expect.stringContaining(sentence) })
})
