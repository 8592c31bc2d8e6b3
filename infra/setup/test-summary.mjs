/**
 * @typedef {{ passed: number, failed: number }} Counts
 * @typedef {{ name: string, failed: boolean, tests?: Counts }} StepResult
 */

/**
 * The tests of one Vitest JSON report. A file that could not be run, and a report that was never written, count as one
 * failed test: nothing that failed may look like nothing to do.
 * @param {any} report
 * @returns {Counts}
 */
export function countsOf(report) {
  if (report === undefined) return { passed: 0, failed: 1 }
  const broken = report.testResults.filter(
    (/** @type {any} */ file) =>
      file.status === 'failed' && file.assertionResults.every((/** @type {any} */ test) => test.status !== 'failed'),
  )
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length }
}

/**
 * What is printed at the end: a line per step, then the sum over all tests.
 * @param {readonly StepResult[]} results
 * @returns {{ lines: string[], failed: boolean }}
 */
export function summaryOf(results) {
  const passed = results.reduce((sum, { tests }) => sum + (tests?.passed ?? 0), 0)
  const failed = results.reduce((sum, { tests }) => sum + (tests?.failed ?? 0), 0)
  const steps = results.map(({ name, failed, tests }) => {
    const counts = tests === undefined ? '' : ` (${tests.passed} passed, ${tests.failed} failed)`
    return `${failed ? '✗' : '✓'} ${name}${counts}`
  })
  return {
    lines: ['', ...steps, `${passed} passed, ${failed} failed`],
    failed: results.some((result) => result.failed),
  }
}
