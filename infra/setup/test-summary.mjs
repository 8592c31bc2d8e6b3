/**
 * @typedef {{ passed: number, failed: number, failures: readonly string[] }} Outcome
 * @typedef {{ name: string, failed: boolean, tests?: Outcome }} StepResult
 */

const linesPerFailure = 30
const charactersPerLine = 240

/**
 * Counts the tests of one Vitest JSON report. A file that could not be loaded counts as one failed test. A missing report
 * also counts as one failed test.
 * @param {any} report
 * @param {string} root prefix that is removed from file paths
 * @returns {Outcome} `failures` has one text per failure: file, test and message
 */
export function outcomeOf(report, root = '') {
  if (report === undefined)
    return { passed: 0, failed: 1, failures: ['No test report was written: read the output above.'] }
  const failures = report.testResults.flatMap((/** @type {any} */ file) => {
    if (file.status !== 'failed') return []
    const path = file.name.startsWith(root) ? file.name.slice(root.length) : file.name
    const tests = file.assertionResults.filter((/** @type {any} */ test) => test.status === 'failed')
    if (tests.length === 0) return [failureText(path, file.message)]
    return tests.map((/** @type {any} */ test) =>
      failureText(`${path} › ${test.fullName}`, test.failureMessages.join('\n')),
    )
  })
  return { passed: report.numPassedTests, failed: failures.length, failures }
}

/** @param {string} where @param {string} message @returns {string} */
function failureText(where, message) {
  const lines = message.split('\n').filter((line) => line.trim() !== '')
  const shown = lines.slice(0, linesPerFailure).map((line) => `    ${line.slice(0, charactersPerLine)}`)
  return [where, ...shown].join('\n')
}

/**
 * The last lines of a test run: each step with its failures, then the total.
 * @param {readonly StepResult[]} results
 * @returns {{ lines: string[], failed: boolean }}
 */
export function summaryOf(results) {
  const passed = results.reduce((sum, { tests }) => sum + (tests?.passed ?? 0), 0)
  const failed = results.reduce((sum, { tests }) => sum + (tests?.failed ?? 0), 0)
  const steps = results.flatMap(({ name, failed, tests }) => {
    const counts = tests === undefined ? '' : ` (${tests.passed} passed, ${tests.failed} failed)`
    const failures = tests?.failures ?? []
    return [`${failed ? '✗' : '✓'} ${name}${counts}`, ...failures.map((text) => `  ✗ ${text}`)]
  })
  return {
    lines: ['', ...steps, `${passed} passed, ${failed} failed`],
    failed: results.some((result) => result.failed),
  }
}
