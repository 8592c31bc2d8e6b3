import { expect, test } from 'vitest'
import { countsOf, summaryOf } from '../../../infra/setup/test-summary.mjs'

const file = (status: string, ...tests: string[]) => ({ status, assertionResults: tests.map((status) => ({ status })) })

test('a file that could not be loaded counts as a failed test', () => {
  const report = {
    numPassedTests: 2,
    numFailedTests: 1,
    testResults: [file('passed', 'passed', 'passed'), file('failed', 'failed'), file('failed')],
  }
  expect(countsOf(report)).toEqual({ passed: 2, failed: 2 })
})

test('a tier that wrote no report counts as a failed test', () => {
  expect(countsOf(undefined)).toEqual({ passed: 0, failed: 1 })
})

test('the last line is the sum over all tiers', () => {
  const { lines, failed } = summaryOf([
    { name: 'lint', failed: false },
    { name: 'unit', failed: false, tests: { passed: 5, failed: 0 } },
    { name: 'e2e', failed: true, tests: { passed: 1, failed: 2 } },
  ])
  expect(lines.at(-1)).toBe('6 passed, 2 failed')
  expect(lines).toContain('✗ e2e (1 passed, 2 failed)')
  expect(failed).toBe(true)
})

test('a failed check fails the run although every test has passed', () => {
  expect(
    summaryOf([
      { name: 'lint', failed: true },
      { name: 'unit', failed: false, tests: { passed: 1, failed: 0 } },
    ]).failed,
  ).toBe(true)
})
