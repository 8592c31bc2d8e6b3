/**
 * @typedef {{ passed: number, failed: number, failures: readonly string[] }} Outcome
 * @typedef {{ name: string, failed: boolean, tests?: Outcome }} StepResult
 */

const linesPerFailure = 30
const charactersPerLine = 240

/**
 * What one Vitest JSON report says. A file that could not be run, and a report that was never written, count as one
 * failed test: nothing that failed may look like nothing to do.
 * @param {any} report
 * @param {string} root the folder whose path is left out of the names of files
 * @returns {Outcome} with a text of several lines for each failure: where, and what was said
 */
export function outcomeOf(report, root = '') {
  if (report === undefined) return { passed: 0, failed: 1, failures: ['No report was written.'] }
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
  const said = message.split('\n').filter((line) => line.trim() !== '')
  const shown = said.slice(0, linesPerFailure).map((line) => `    ${line.slice(0, charactersPerLine)}`)
  return [where, ...shown].join('\n')
}

/**
 * What is printed at the end: a line per step, what failed in it below, then the sum over all tests.
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
