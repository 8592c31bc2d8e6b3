import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import config from '#infra/tooling/vitest.config.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'
import { packageScript } from '#test/support/system/package-scripts.ts'
import { rulesOf } from './rules.ts'
import { repositoryFiles } from './source.ts'

const tiers = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
)
const names = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project ? String(project.test?.name) : [],
)
const files = repositoryFiles(repositoryRoot)

/** The names of the scripts that a shell script runs with npm. */
const packageScriptsIn = (shellScript: string): readonly string[] =>
  [...shellScript.matchAll(/^npm (?:run --silent )?(test[\w:]*)/gm)].flatMap(([, name]) => name ?? [])

describe('the repository follows its rules', () => {
  test('the list of files and the list of tiers are not empty', () => {
    expect(files.map(({ path }) => path)).toContain('schemas/events/catalogue.ts')
    expect(tiers.length).toBeGreaterThan(0)
  })

  test('the pipeline runs every tier', () => {
    const pipeline = packageScriptsIn(readFileSync(join(repositoryRoot, '.ci', 'run'), 'utf8'))
    const inNpmTest = ['unit', 'integration', 'e2e']
    const tiersOf = (script: string) =>
      script === 'test' ? inNpmTest : packageScript(script).match(/--project (\w+)/)?.[1]
    expect(pipeline.flatMap((script) => tiersOf(script) ?? []).toSorted()).toEqual(names.toSorted())
  })

  test.each(Object.entries(rulesOf(tiers)))('%s', (_ruleName, rule) => {
    expect(rule(files)).toEqual([])
  })
})
