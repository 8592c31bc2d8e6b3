import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import config from '#infra/tooling/vitest.config.ts'
import { rulesOf } from './rules.ts'
import { repositoryFiles } from './source.ts'

const tiers = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
)
const files = repositoryFiles(fileURLToPath(new URL('../..', import.meta.url)))

describe('the repository keeps its rules', () => {
  test('the files of the repository and the tiers are found', () => {
    expect(files.map(({ path }) => path)).toContain('schemas/events/catalogue.ts')
    expect(tiers.length).toBeGreaterThan(0)
  })

  test.each(Object.entries(rulesOf(tiers)))('%s', (_promise, rule) => {
    expect(rule(files)).toEqual([])
  })
})
