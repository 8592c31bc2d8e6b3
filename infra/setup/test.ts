/**
 * `npm test`, `npm run test:ops` and `npm run test:cluster`. Without a pattern, `-t` or `--project`, also runs the type
 * check, the linter and the check of the generated files.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createVitest, type TestModule, type Vitest } from 'vitest/node'

const root = join(import.meta.dirname, '..', '..')
const config = join(root, 'infra', 'tooling', 'vitest.config.ts')

process.exit(await main(process.argv.slice(2)))

/** Prints the number of tests in the last line. Exit code 1 after a failure, 2 for wrong arguments, 130 after Ctrl-C. */
async function main(args: readonly string[]): Promise<number> {
  const given = parse(args)
  if (given === undefined) return 2
  const { patterns, testNamePattern, project, full } = given
  if (full) process.env.TEST_FULL = '1'
  const isWholeRun = patterns.length === 0 && testNamePattern === undefined && project === undefined
  const failedChecks = isWholeRun ? ['typecheck', 'lint', 'gen:check'].filter((name) => !isPassed(name)) : []
  const vitest = await createVitest('test', {
    ...{ config, root, watch: false },
    project: project ?? ['unit', 'integration', 'e2e'],
    ...(testNamePattern !== undefined && { testNamePattern }),
  })
  const interruption = interruptWith(vitest)
  const code = await runTests(vitest, patterns)
  await vitest.close()
  if (interruption.signal.aborted) return 130
  for (const check of failedChecks) console.log(`npm run ${check} failed.`)
  const { passed, failed } = countTests(vitest.state.getTestModules())
  if (code < 2) console.log(`${passed} passed, ${failed} failed`)
  return failedChecks.length > 0 ? 1 : code
}

function parse(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        testNamePattern: { type: 'string', short: 't' },
        project: { type: 'string', multiple: true },
        full: { type: 'boolean', default: false },
      },
    })
    return { ...values, patterns: positionals }
  } catch (error) {
    console.error(`${messageOf(error)} Usage: npm test -- [PATTERN ...] [-t NAME] [--full]`)
    return undefined
  }
}

function isPassed(check: string): boolean {
  console.log(`\n── ${check}`)
  return spawnSync('npm', ['run', '--silent', check], { cwd: root, stdio: 'inherit' }).status === 0
}

/** Cancels the run, so that Kafka and MongoDB are stopped. The listener of Vitest would end this process at once. */
function interruptWith(vitest: Vitest): AbortController {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.removeAllListeners(signal)
    process.once(signal, () => {
      interruption.abort()
      vitest.cancelCurrentRun('keyboard-input')
    })
  }
  return interruption
}

async function runTests(vitest: Vitest, patterns: readonly string[]): Promise<number> {
  for (const pattern of patterns) {
    if ((await vitest.globTestSpecifications([pattern])).length > 0) continue
    console.error(`This command has no test file with a path that contains "${pattern}".`)
    return 2
  }
  try {
    await vitest.start([...patterns])
  } catch (error) {
    console.error(messageOf(error))
    return 1
  }
  const { passed, failed } = countTests(vitest.state.getTestModules())
  if (passed + failed === 0) console.error('No test has this name.')
  return passed === 0 || failed > 0 || process.exitCode ? 1 : 0
}

/** A file that failed without a failed test, for example because it could not be loaded, counts as one failed test. */
function countTests(modules: readonly TestModule[]): { passed: number; failed: number } {
  const count = (module: TestModule, state: 'passed' | 'failed') => [...module.children.allTests(state)].length
  return modules.reduce(
    ({ passed, failed }, module) => ({
      passed: passed + count(module, 'passed'),
      failed: failed + (count(module, 'failed') || (module.state() === 'failed' ? 1 : 0)),
    }),
    { passed: 0, failed: 0 },
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
