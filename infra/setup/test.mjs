/**
 * `npm test`: every check and every tier of tests, in order. A failure does not hide what comes after it; the exit code is
 * not zero when anything failed. Kafka and MongoDB are started once for all tiers that need them.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outcomeOf, summaryOf } from './test-summary.mjs'

/** @typedef {import('./test-summary.mjs').StepResult} StepResult */

const root = fileURLToPath(new URL('../..', import.meta.url))
const config = join('infra', 'tooling', 'vitest.config.ts')
const reports = mkdtempSync(join(tmpdir(), 'contact-import-reports-'))

let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // The children get it from the terminal as well; here it only keeps the next steps from starting.
  process.on(signal, () => {
    interrupted = true
  })
}

/** @type {StepResult[]} */
const results = []
for (const check of ['typecheck', 'lint', 'gen:check']) results.push(await runCheck(check))
results.push(await runTier('unit', {}))
await withServices(async (env) => {
  for (const tier of ['integration', 'e2e']) results.push(await runTier(tier, env))
})
rmSync(reports, { recursive: true, force: true })
const { lines, failed } = summaryOf(results)
for (const line of lines) console.log(line)
process.exit(interrupted ? 130 : failed ? 1 : 0)

/**
 * @param {string} name of a script in package.json
 * @returns {Promise<StepResult>}
 */
async function runCheck(name) {
  if (interrupted) return { name, failed: true }
  console.log(`\n── ${name}`)
  return { name, failed: (await run('npm', ['run', '--silent', name])) !== 0 }
}

/**
 * @param {string} name of a project in the Vitest configuration
 * @param {Record<string, string>} env
 * @returns {Promise<StepResult>}
 */
async function runTier(name, env) {
  if (interrupted) return { name, failed: true }
  console.log(`\n── ${name} tests`)
  const report = join(reports, `${name}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const exitCode = await run('vitest', ['run', '--config', config, '--project', name, ...reporters], env)
  return { name, failed: exitCode !== 0, tests: outcomeOf(readReport(report), root) }
}

/** @param {string} path @returns {unknown} */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** @param {(env: Record<string, string>) => Promise<void>} work */
async function withServices(work) {
  if (interrupted) return work({})
  try {
    const { startSharedServices } = await import('../../test/support/backing/shared-services.ts')
    const services = await startSharedServices()
    try {
      await work({ TEST_KAFKA_BROKERS: services.kafkaBrokers.join(','), TEST_MONGODB_URL: services.mongodbUrl })
    } finally {
      await services.stop()
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    results.push({ name: 'Kafka and MongoDB for the tests', failed: true })
  }
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<number>}
 */
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
