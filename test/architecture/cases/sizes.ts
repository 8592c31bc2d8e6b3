import type { Cases } from './cases.ts'

export const sizeCases: Cases = {
  'files have at most 300 lines': {
    'a file of 301 lines': {
      broken: { 'schemas/a.ts': '\n'.repeat(301), 'schemas/generated/errors.md': '\n'.repeat(900) },
      faults: ['schemas/a.ts has 301 lines; the limit is 300.'],
      repaired: { 'schemas/a.ts': '\n'.repeat(300) },
    },
  },
  'functions have at most 60 lines': {
    'a function that contains another function': {
      broken: { 'schemas/a.ts': `export const a = () => {\n  const b = () => {${'\n'.repeat(60)}}\n}` },
      faults: [
        'schemas/a.ts:1 has a function of 63 lines; the limit is 60.',
        'schemas/a.ts:2 has a function of 61 lines; the limit is 60.',
      ],
      repaired: { 'schemas/a.ts': `function a() {${'\n'.repeat(59)}}` },
    },
    'a test, but not a group of tests': {
      broken: { 'test/a.unit.test.ts': `describe('a', () => {\n  test('b', () => {${'\n'.repeat(60)}})\n})` },
      faults: ['test/a.unit.test.ts:2 has a function of 61 lines; the limit is 60.'],
      repaired: {
        'test/a.unit.test.ts': `describe.each([1])('a', () => {${'\n'.repeat(80)}})`,
        'test/contract/b.ts': `export const b = () => {\n  describe('a', () => {${'\n'.repeat(80)}})\n}`,
      },
    },
  },
  'ports have at most 3 methods': {
    'methods and members of a function type': {
      broken: {
        'shared/ports/a.ts': 'export type A = { a(): void; b(): void; c: () => void; readonly d: () => void }',
        'shared/ports/b.ts': 'export interface B {\n  a(): void\n  b(): void\n  c(): void\n  d(): void\n}',
      },
      faults: ['a', 'b'].map((name) => `shared/ports/${name}.ts:1 has a port of 4 methods; the limit is 3.`),
      repaired: {
        'shared/ports/a.ts': 'export type A = { a(): void; b(): void; c: () => void; d: string }',
        'schemas/b.ts': 'export type A = { a(): void; b(): void; c(): void; d(): void }',
      },
    },
  },
  'comments have at most 3 lines': {
    'line and block comments, but not docstrings of exports': {
      broken: {
        'schemas/a.ts': 'const a = 1\n// 1\n// 2\n// 3\n// 4\nconst b = 2 /* 1\n2\n3\n4 */',
        'schemas/b.ts': "import 'x'\n/**\n * 1\n * 2\n * 3\n * 4\n */\nconst b = 2",
      },
      faults: [
        'schemas/a.ts:2 has a comment of 4 lines; the limit is 3.',
        'schemas/a.ts:6 has a comment of 4 lines; the limit is 3.',
        'schemas/b.ts:2 has a comment of 4 lines; the limit is 3.',
      ],
      repaired: {
        'schemas/a.ts': 'const a = 1\n// 1\n// 2\n// 3\nconst b = `\n// 1\n// 2\n// 3\n// 4\n`; const c = /\\/*/ // 1',
        'schemas/b.ts': '/**\n * 1\n * 2\n * 3\n */\nconst b = 2\n/**\n * 1\n * 2\n * 3\n * 4\n */\nexport const c = 2',
      },
    },
  },
}
