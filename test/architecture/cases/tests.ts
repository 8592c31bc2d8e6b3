import type { Cases } from './cases.ts'

export const testCases: Cases = {
  'every test is run': {
    'a name that no tier matches': {
      broken: { 'test/unit/a.test.ts': '', 'shared/a.unit.test.ts': '', 'test/unit/b.spec.ts': '' },
      faults: ['test/unit/a.test.ts', 'shared/a.unit.test.ts', 'test/unit/b.spec.ts'].map(
        (path) =>
          `${path} is in no tier; name it *.unit.test.ts, *.int.test.ts, *.e2e.test.ts or *.cluster.test.ts below test/.`,
      ),
      repaired: { 'test/unit/a.unit.test.ts': '' },
    },
    'tests in a file without a test suffix': {
      broken: { 'test/unit/a.ts': "describe.each([1])('a', () => {})" },
      faults: [
        'test/unit/a.ts is in no tier; name it *.unit.test.ts, *.int.test.ts, *.e2e.test.ts or *.cluster.test.ts below test/.',
      ],
      repaired: { 'test/support/a.ts': "export const suite = () => test('a', () => {})" },
    },
    'a shared suite that no test file runs': {
      broken: { 'test/contract/log.ts': "export const logContract = () => describe('log', () => {})" },
      faults: ['test/contract/log.ts declares a shared suite that no test file imports.'],
      repaired: {
        'test/contract/log.ts': "export const logContract = () => describe('log', () => {})",
        'test/unit/memory-log.unit.test.ts': "import { logContract } from '../contract/log.ts'\nlogContract()",
      },
    },
  },
  'no test is skipped, focused or expected to fail': {
    'no only, skip, todo or fails': {
      broken: {
        'test/a.unit.test.ts':
          "test.only('a', f)\ndescribe.skip('b', f)\nit.todo('c')\ntest.only.each([1])('d', f)\ntest.fails('e', f)",
      },
      faults: ['only', 'skip', 'todo', 'only', 'fails'].map(
        (name) => `test/a.unit.test.ts uses .${name}; every test must run and pass.`,
      ),
      repaired: { 'test/a.unit.test.ts': "test('a', f)\ntest.each([1])('b', f)\nlist.only" },
    },
  },
  'tests do not sleep': {
    'timers and Atomics.wait': {
      broken: {
        'test/a.ts': 'await new Promise((resolve) => setTimeout(resolve, 100))',
        'test/b.ts': 'await new Promise((done) => { globalThis.setTimeout(() => done(), 100) })',
        'test/c.ts': "import { setTimeout } from 'node:timers/promises'",
        'test/d.ts': 'Atomics.wait(a, 0, 0, 100)',
      },
      faults: ['a', 'b', 'c', 'd'].map(
        (name) => `test/${name}.ts sleeps; wait for a condition with eventually() from test/support/eventually.ts.`,
      ),
      repaired: {
        'test/a.ts': 'createServer((_, response) => setTimeout(() => response.end(), 100))',
        'test/b.ts': 'await new Promise((_, reject) => setTimeout(() => reject(new Error()), 100))',
        'test/support/eventually.ts': "import { setTimeout } from 'node:timers/promises'",
        'test/integration/fixtures/slow.ts': 'await new Promise((resolve) => setTimeout(resolve, 100))',
      },
    },
  },
  'eventually does not read the clock': {
    'a condition that calls Date.now': {
      broken: { 'test/a.ts': 'await eventually(() => expect(Date.now()).toBeGreaterThan(later))' },
      faults: ['test/a.ts reads the clock in eventually(); wait for an observable condition instead.'],
      repaired: { 'test/a.ts': 'const start = performance.now()\nawait eventually(() => expect(list).toEqual([]))' },
    },
  },
}
