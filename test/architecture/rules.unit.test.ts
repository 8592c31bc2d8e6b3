import { describe, expect, test } from 'vitest'
import type { Cases } from './cases/cases.ts'
import { layerCases } from './cases/layers.ts'
import { shapeCases } from './cases/shape.ts'
import { sizeCases } from './cases/sizes.ts'
import { testCases } from './cases/tests.ts'
import { rulesOf } from './rules.ts'
import type { SourceFile } from './source.ts'

const cases: Cases = { ...layerCases, ...shapeCases, ...sizeCases, ...testCases }
const rules = rulesOf(['test/**/*.unit.test.ts', 'test/**/*.int.test.ts'])
const tree = (files: Readonly<Record<string, string>>): readonly SourceFile[] =>
  Object.entries(files).map(([path, text]) => ({ path, text }))

describe.each(Object.entries(rules))('%s', (ruleName, rule) => {
  test('at least one case breaks the rule', () => expect(Object.keys(cases[ruleName] ?? {})).not.toEqual([]))

  test.each(Object.entries(cases[ruleName] ?? {}))('%s', (_name, { broken, faults, repaired }) => {
    expect(rule(tree(broken))).toEqual(faults)
    expect(rule(tree(repaired))).toEqual([])
  })
})
