import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import config from '#infra/tooling/vitest.config.ts'
import { rulesOf } from './rules.ts'
import { repositoryFiles } from './source.ts'

const tiers = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
)
const files = repositoryFiles(fileURLToPath(new URL('../..', import.meta.url)))

describe('the repository follows its rules', () => {
  test('the list of files and the list of tiers are not empty', () => {
    expect(files.map(({ path }) => path)).toContain('schemas/events/catalogue.ts')
    expect(tiers.length).toBeGreaterThan(0)
  })

  test.each(Object.entries(rulesOf(tiers)))('%s', (_ruleName, rule) => {
    expect(rule(files)).toEqual([])
  })
})
