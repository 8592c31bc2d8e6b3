/**
 * `npm run test:ops`: the tests of what runs beside the service, such as a browser. They need programs that no package
 * of npm brings; what is missing is said in one sentence each, and counts as failed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromiumPaths } from './chromium.mjs'
import { outcomeOf, summaryOf } from './test-summary.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const needs = [
  {
    isThere: () => chromiumPaths().some((path) => existsSync(path)),
    sentence:
      'Chromium is missing, so the pages under /docs cannot be looked at: install it (on Debian and Ubuntu: ' +
      'apt-get install chromium) or set CHROMIUM to the path of one, and run npm run test:ops again.',
  },
]

const missing = needs.filter(({ isThere }) => !isThere())
for (const { sentence } of missing) console.error(sentence)
const result = missing.length > 0 ? { name: 'ops', failed: true, tests: outcomeOf(undefined) } : run()
const { lines, failed } = summaryOf([result])
for (const line of lines) console.log(line)
process.exitCode = failed ? 1 : 0

function run() {
  const reports = mkdtempSync(join(tmpdir(), 'contact-import-reports-'))
  const report = join(reports, 'ops.json')
  const { status } = spawnSync(
    'vitest',
    [
      ...['run', '--config', join('infra', 'tooling', 'vitest.config.ts'), '--project', 'ops'],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ],
    { cwd: root, stdio: 'inherit' },
  )
  const tests = outcomeOf(existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined, root)
  rmSync(reports, { recursive: true, force: true })
  return { name: 'ops', failed: status !== 0, tests }
}
