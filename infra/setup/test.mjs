/**
 * `npm test`, `npm run test:watch` and `npm run test:ops`. Runs all steps even if one fails. The exit code is 0 only if
 * all steps pass. Starts Kafka and MongoDB once for all tiers that need them.
 */
import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromiumPaths } from './chromium.mjs'
import { planTests } from './test-plan.mjs'
import { outcomeOf, summaryOf } from './test-summary.mjs'

/**
 * @typedef {import('./test-summary.mjs').StepResult} StepResult
 * @typedef {import('./test-plan.mjs').Tier} Tier
 */

const root = fileURLToPath(new URL('../..', import.meta.url))
const reports = mkdtempSync(join(tmpdir(), 'contact-import-reports-'))

let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // The terminal also signals the child processes. This flag skips the remaining steps.
  process.on(signal, () => {
    interrupted = true
  })
}

const plan = planTests(process.argv.slice(2), globSync('test/**/*.test.ts', { cwd: root }).sort())
const vitest = ['--config', join('infra', 'tooling', 'vitest.config.ts')]
if (plan.is === 'refused') {
  console.error(plan.reason)
  process.exitCode = 2
} else {
  if (plan.testName !== undefined) vitest.push('-t', plan.testName)
  if (plan.full) process.env.TEST_FULL = '1'
  process.exitCode = plan.watch ? await watch(plan.tiers) : await runSteps(plan)
}
rmSync(reports, { recursive: true, force: true })
process.exit()

/** @param {Tier[]} tiers @returns {Promise<number>} */
function watch(tiers) {
  const projects = tiers.flatMap(({ name }) => ['--project', name])
  return run('vitest', ['watch', ...vitest, ...projects, ...tiers.flatMap(({ files }) => files)])
}

/** @param {import('./test-plan.mjs').Run} plan @returns {Promise<number>} the exit code */
async function runSteps({ checks, tiers, testName }) {
  /** @type {StepResult[]} */
  const results = []
  for (const check of checks ? ['typecheck', 'lint', 'gen:check'] : []) results.push(await runCheck(check))
  for (const tier of tiers.filter(({ name }) => name === 'unit')) results.push(await runTier(tier))
  const withServices = tiers.filter(({ name }) => name === 'integration' || name === 'e2e')
  if (withServices.length > 0) results.push(...(await runWithServices(withServices)))
  for (const tier of tiers.filter(({ name }) => name === 'ops')) results.push(await runOps(tier))
  if (
    testName !== undefined &&
    results.every(({ tests }) => tests === undefined || tests.passed + tests.failed === 0)
  ) {
    results.push({ name: `no test has a name that matches "${testName}"`, failed: true })
  }
  const { lines, failed } = summaryOf(results)
  for (const line of lines) console.log(line)
  return interrupted ? 130 : failed ? 1 : 0
}

/** @param {string} name of a script in package.json @returns {Promise<StepResult>} */
async function runCheck(name) {
  if (interrupted) return { name, failed: true }
  console.log(`\n── ${name}`)
  return { name, failed: (await run('npm', ['run', '--silent', name])) !== 0 }
}

/** @param {Tier} tier @param {Record<string, string>} env @returns {Promise<StepResult>} */
async function runTier({ name, files }, env = {}) {
  if (interrupted) return { name, failed: true }
  console.log(`\n── ${name} tests`)
  const report = join(reports, `${name}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const exitCode = await run('vitest', ['run', ...vitest, '--project', name, ...reporters, ...files], env)
  return { name, failed: exitCode !== 0, tests: outcomeOf(readReport(report), root) }
}

/** @param {Tier[]} tiers @returns {Promise<StepResult[]>} */
async function runWithServices(tiers) {
  /** @type {StepResult[]} */
  const results = []
  if (interrupted) return tiers.map(({ name }) => ({ name, failed: true }))
  try {
    const { startSharedServices } = await import('../../test/support/backing/shared-services.ts')
    const services = await startSharedServices()
    const env = { TEST_KAFKA_BROKERS: services.kafkaBrokers.join(','), TEST_MONGODB_URL: services.mongodbUrl }
    try {
      for (const tier of tiers) results.push(await runTier(tier, env))
    } finally {
      await services.stop()
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    results.push({ name: 'start of Kafka and MongoDB', failed: true })
  }
  return results
}

/** @param {Tier} tier @returns {Promise<StepResult>} */
async function runOps(tier) {
  if (chromiumPaths().some((path) => existsSync(path))) return runTier(tier)
  console.error(
    'The tests of the pages under /docs need Chromium. Install it (on Debian and Ubuntu: apt-get install chromium) ' +
      'or set CHROMIUM to its path, and run npm run test:ops again.',
  )
  return { name: tier.name, failed: true, tests: outcomeOf(undefined) }
}

/** @param {string} path @returns {unknown} */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** @param {string} command @param {string[]} args @param {Record<string, string>} env @returns {Promise<number>} */
function run(command, args, env = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(error.message)
      resolve(1)
    })
    child.once('close', (code) => resolve(code ?? 130))
  })
}
