import { expect, test } from 'vitest'
import { outcomeOf, summaryOf } from '#infra/setup/test-summary.mjs'

const file = (name: string, status: string, ...tests: readonly Record<string, unknown>[]) => ({
  name: `/checkout/${name}`,
  status,
  message: status === 'failed' && tests.length === 0 ? 'Cannot find module' : '',
  assertionResults: tests,
})
const passed = { status: 'passed', fullName: 'a queue takes', failureMessages: [] }
const failed = { status: 'failed', fullName: 'a queue gives', failureMessages: ['Error: 1 is not 2\n\n    at here'] }

test('a failure is printed with its file, its test and its message, and a file that could not be loaded with its error', () => {
  const report = {
    numPassedTests: 3,
    numFailedTests: 1,
    testResults: [
      file('a.test.ts', 'passed', passed, passed),
      file('b.test.ts', 'failed', passed, failed),
      file('c.test.ts', 'failed'),
    ],
  }
  expect(outcomeOf(report, '/checkout/')).toEqual({
    passed: 3,
    failed: 2,
    failures: [
      'b.test.ts › a queue gives\n    Error: 1 is not 2\n        at here',
      'c.test.ts\n    Cannot find module',
    ],
  })
})

test('a long message is truncated', () => {
  const message = Array.from({ length: 100 }, (_, i) => `${i} ${'x'.repeat(1_000)}`).join('\n')
  const report = {
    numPassedTests: 0,
    numFailedTests: 1,
    testResults: [file('a.test.ts', 'failed', { ...failed, failureMessages: [message] })],
  }
  const [text = ''] = outcomeOf(report).failures
  expect(text).toContain('\n    29 xxx')
  expect(text).not.toContain('\n    30 xxx')
  expect(text.length).toBeLessThan(10_000)
})

test('a tier that wrote no report counts as a failed test', () => {
  expect(outcomeOf(undefined)).toEqual({
    passed: 0,
    failed: 1,
    failures: ['No test report was written: read the output above.'],
  })
})

test('the last line is the total of all tiers', () => {
  const { lines, failed } = summaryOf([
    { name: 'lint', failed: false },
    { name: 'unit', failed: false, tests: { passed: 5, failed: 0, failures: [] } },
    { name: 'e2e', failed: true, tests: { passed: 1, failed: 2, failures: ['a.test.ts › a\n    said', 'b.test.ts'] } },
  ])
  expect(lines.at(-1)).toBe('6 passed, 2 failed')
  const e2e = ['✗ e2e (1 passed, 2 failed)', '  ✗ a.test.ts › a\n    said', '  ✗ b.test.ts']
  expect(lines.slice(-4, -1)).toEqual(e2e)
  expect(failed).toBe(true)
})

test('a failed check fails the run even if every test passed', () => {
  expect(
    summaryOf([
      { name: 'lint', failed: true },
      { name: 'unit', failed: false, tests: { passed: 1, failed: 0, failures: [] } },
    ]).failed,
  ).toBe(true)
})
