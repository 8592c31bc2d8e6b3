import { parseArgs } from 'node:util'

const suffixes = { unit: '.unit.test.ts', integration: '.int.test.ts', e2e: '.e2e.test.ts', ops: '.ops.test.ts' }

const usage = 'Usage: npm test -- [PATTERN ...] [-t NAME] [--full]'

/**
 * @typedef {{ name: string, files: string[] }} Tier `files` is empty when all files of the tier run
 * @typedef {{ is: 'run', checks: boolean, watch: boolean, tiers: Tier[], testName: string | undefined, full: boolean }} Run
 * @typedef {Run | { is: 'refused', reason: string }} TestPlan
 */

/**
 * Plans a test command. Without arguments: all checks and all tiers except `ops`. With patterns or `-t`: no checks, and
 * only files whose path contains a pattern. `--watch` without a pattern: the unit tests.
 * @param {readonly string[]} args the command line: patterns, `-t NAME`, `--full`, `--watch`, `--ops`
 * @param {readonly string[]} files paths of all test files, from the root of the repository
 * @returns {TestPlan} refused for an unknown option or a pattern that matches no file
 */
export function planTests(args, files) {
  const given = parse(args)
  if (given === undefined) return { is: 'refused', reason: usage }
  const { patterns, watch, ops, testName, full } = given
  const allowed = ops ? ['ops'] : watch && patterns.length === 0 ? ['unit'] : ['unit', 'integration', 'e2e']
  const candidates = Object.entries(suffixes)
    .filter(([name]) => allowed.includes(name))
    .map(([name, suffix]) => ({ name, files: files.filter((file) => file.endsWith(suffix)) }))
  const unmatched = patterns.filter((pattern) => !candidates.some((tier) => tier.files.some(contains(pattern))))
  if (unmatched.length > 0) {
    const shown = unmatched.map((pattern) => `"${pattern}"`).join(' or ')
    return { is: 'refused', reason: `This command has no test file with a path that contains ${shown}. ${usage}` }
  }
  const tiers = candidates
    .map(({ name, files }) => ({ name, files: files.filter((file) => patterns.some((one) => contains(one)(file))) }))
    .filter((tier) => patterns.length === 0 || tier.files.length > 0)
  const checks = !watch && !ops && patterns.length === 0 && testName === undefined
  return { is: 'run', checks, watch, tiers, testName, full }
}

/** @param {string} pattern @returns {(file: string) => boolean} */
const contains = (pattern) => (file) => file.toLowerCase().includes(pattern.replace(/^\.\//, '').toLowerCase())

/** @param {readonly string[]} args */
function parse(args) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        testNamePattern: { type: 'string', short: 't' },
        full: { type: 'boolean', default: false },
        watch: { type: 'boolean', default: false },
        ops: { type: 'boolean', default: false },
      },
    })
    const { testNamePattern: testName, full, watch, ops } = values
    return { patterns: positionals, testName, full, watch, ops }
  } catch {
    return undefined
  }
}
