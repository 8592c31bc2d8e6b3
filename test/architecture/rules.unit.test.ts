import { describe, expect, test } from 'vitest'
import { rulesOf } from './rules.ts'
import type { SourceFile } from './source.ts'

const rules = rulesOf(['test/**/*.unit.test.ts', 'test/**/*.int.test.ts'])
const tree = (files: Record<string, string>): readonly SourceFile[] =>
  Object.entries(files).map(([path, text]) => ({ path, text }))

/** What each rule says of a tree that breaks it, and that it says nothing once the tree is mended. */
type Seen = { breaks: Record<string, string>; says: readonly string[]; mended: Record<string, string> }

const cases: Record<string, Record<string, Seen>> = {
  'imports stay in their layers': {
    'schemas import nothing of the rest': {
      breaks: { 'schemas/a.ts': "import type { B } from '../shared/ports/b.ts'\nimport 'node:fs'\nimport 'ajv'" },
      says: [
        'schemas/a.ts may not import shared/ports/b.ts.',
        'schemas/a.ts may not use node:fs: schemas/ is pure.',
        'schemas/a.ts may not use the package ajv.',
      ],
      mended: { 'schemas/a.ts': "import { Type } from '@sinclair/typebox/compiler'\nimport './http/b.ts'" },
    },
    'the domain knows schemas alone, type-only imports included': {
      breaks: { 'shared/domain/a.ts': "import type { Clock } from '#shared/ports/clock.ts'" },
      says: ['shared/domain/a.ts may not import shared/ports/clock.ts.'],
      mended: { 'shared/domain/a.ts': "import type { Contact } from '#schemas/contact.ts'" },
    },
    'an inline type import is an import': {
      breaks: { 'shared/domain/a.ts': "export type A = import('../ports/clock.ts').Clock" },
      says: ['shared/domain/a.ts may not import shared/ports/clock.ts.'],
      mended: { 'shared/domain/a.ts': "export type A = import('./b.ts').B" },
    },
    'the phone library stays in phone.ts': {
      breaks: { 'shared/domain/import/plan.ts': "import x from 'libphonenumber-js/max'" },
      says: [
        'shared/domain/import/plan.ts may not use the package libphonenumber-js; it stays in shared/domain/phone.ts.',
      ],
      mended: { 'shared/domain/phone.ts': "import x from 'libphonenumber-js/max'" },
    },
    'ports take only types': {
      breaks: { 'shared/ports/a.ts': "import { topics } from '#schemas/events/catalogue.ts'" },
      says: ['shared/ports/a.ts may import only types from schemas/events/catalogue.ts.'],
      mended: { 'shared/ports/a.ts': "import { type Topic } from '#schemas/events/catalogue.ts'" },
    },
    'adapters know ports, not the domain nor each other': {
      breaks: {
        'shared/adapters/kafka/a.ts': "export * from '#shared/domain/phone.ts'\nexport { b } from '../mongo/b.ts'",
      },
      says: [
        'shared/adapters/kafka/a.ts may not import shared/domain/phone.ts.',
        'shared/adapters/kafka/a.ts may not import shared/adapters/mongo/b.ts.',
      ],
      mended: {
        'shared/adapters/kafka/a.ts': "import './b.ts'\nimport '#shared/ports/clock.ts'",
        'test/twins/event-log.ts': "import '../kafka/produce/partition-for.ts'",
      },
    },
    'config, errors and observability do not know adapters': {
      breaks: { 'shared/errors/a.ts': "await import('#shared/adapters/mongo/connect.ts')" },
      says: ['shared/errors/a.ts may not import shared/adapters/mongo/connect.ts.'],
      mended: { 'shared/errors/a.ts': "await import('#shared/runtime/dependency-lost.ts')" },
    },
    'a service does not know another; only dev does': {
      breaks: { 'services/query/a.ts': "import '../ingest/b.ts'\nimport '#shared/domain/phone.ts'" },
      says: ['services/query/a.ts may not import services/ingest/b.ts.'],
      mended: { 'services/dev/compose.ts': "import '../ingest/b.ts'", 'services/query/a.ts': "import './b.ts'" },
    },
    'only compose.ts names adapters': {
      breaks: { 'services/query/main.ts': "import '#shared/adapters/mongo/connect.ts'" },
      says: ['services/query/main.ts may not import shared/adapters/mongo/connect.ts.'],
      mended: { 'services/query/compose.ts': "import '#shared/adapters/mongo/connect.ts'" },
    },
    'a worker file named by its URL is an import': {
      breaks: { 'services/ingest/a.ts': "new URL('../query/worker.ts', import.meta.url)" },
      says: ['services/ingest/a.ts may not import services/query/worker.ts.'],
      mended: { 'services/ingest/a.ts': "new URL('./worker.ts', import.meta.url); new URL('../..', import.meta.url)" },
    },
    'vendors stay behind their adapters': {
      breaks: {
        'services/query/compose.ts': "import { MongoClient } from 'mongodb'",
        'services/dispatcher/compose.ts': "import { Kafka } from 'kafkajs'",
        'shared/runtime/a.ts': "import { request } from 'undici'",
      },
      says: [
        'services/query/compose.ts may not use the package mongodb; it stays in shared/adapters/mongo/.',
        'services/dispatcher/compose.ts may not use the package kafkajs; it stays in shared/adapters/kafka/.',
        'shared/runtime/a.ts may not use the package undici; it stays in shared/adapters/http/.',
      ],
      mended: {
        'shared/adapters/mongo/a.ts': "import { MongoClient } from 'mongodb'",
        'shared/adapters/kafka/a.ts': "import { Kafka } from 'kafkajs'",
        'shared/adapters/http/a.ts': "import { request } from 'undici'",
      },
    },
    'nothing imports infra or tests': {
      breaks: { 'services/dev/a.ts': "import '../../infra/a.ts'\nimport '../../test/b.ts'" },
      says: ['services/dev/a.ts may not import infra/a.ts.', 'services/dev/a.ts may not import test/b.ts.'],
      mended: { 'test/unit/a.ts': "import '../../infra/a.ts'" },
    },
    'benchmarks use the builders of the tests; tests import no benchmark': {
      breaks: {
        'infra/bench/a.ts': "import '../../test/unit/b.ts'",
        'infra/setup/a.ts': "import '#test/support/builders/b.ts'",
        'test/unit/a.ts': "import '#infra/bench/b.ts'",
      },
      says: [
        'infra/bench/a.ts may not import test/unit/b.ts.',
        'infra/setup/a.ts may not import test/support/builders/b.ts.',
        'test/unit/a.ts may not import infra/bench/b.ts.',
      ],
      mended: {
        'infra/bench/a.ts': "import '#test/support/builders/b.ts'",
        'test/unit/a.ts': "import '#infra/start/b.ts'",
      },
    },
    'a new folder needs a place in the table': {
      breaks: { 'shared/novelty/a.ts': "import './b.ts'" },
      says: ['shared/novelty/a.ts is in no layer; name its folder in the table.'],
      mended: { 'shared/runtime/a.ts': "import './b.ts'" },
    },
  },
  'imports have no cycles': {
    'through types and re-exports': {
      breaks: {
        'schemas/a.ts': "import type { B } from './b.ts'",
        'schemas/b.ts': "export { c } from './c.ts'",
        'schemas/c.ts': "export * from '#schemas/a.ts'",
      },
      says: ['schemas/a.ts → schemas/b.ts → schemas/c.ts → schemas/a.ts is a cycle.'],
      mended: {
        'schemas/a.ts': "import './b.ts'\nimport './c.ts'",
        'schemas/b.ts': "import './c.ts'",
        'schemas/c.ts': '',
      },
    },
  },
  'ports are types': {
    'no function': {
      breaks: { 'shared/ports/a.ts': 'export const now = () => 1' },
      says: ['shared/ports/a.ts holds more than types and constant tuples.'],
      mended: { 'shared/ports/a.ts': "export const words = ['a'] as const\nexport type Word = (typeof words)[number]" },
    },
    'no class': {
      breaks: { 'shared/ports/a.ts': 'export class A {}' },
      says: ['shared/ports/a.ts holds more than types and constant tuples.'],
      mended: { 'shared/ports/a.ts': 'export interface A { now(): number }' },
    },
  },
  'files stay short': {
    'the line after the last is one too many': {
      breaks: { 'schemas/a.ts': '\n'.repeat(301), 'schemas/generated/errors.md': '\n'.repeat(900) },
      says: ['schemas/a.ts has 301 lines; 300 are the most.'],
      mended: { 'schemas/a.ts': '\n'.repeat(300) },
    },
  },
  'the top level is as laid out': {
    'neither a folder nor a file more': {
      breaks: { 'lib/a.ts': '', 'NOTES.md': '' },
      says: [
        'lib does not belong at the top; see the folder map in README.md.',
        'NOTES.md does not belong at the top; see the folder map in README.md.',
      ],
      mended: { 'README.md': '', '.gitignore': '', '.ci/run': '', 'infra/docs/adr/a.md': '' },
    },
  },
  'names say what they mean': {
    'of files': {
      breaks: { 'shared/runtime/string-utils.ts': '', 'test/helpers/a.ts': '', 'shared/runtime/batch-job.ts': '' },
      says: [
        'shared/runtime/string-utils.ts is named after nothing in particular.',
        'test/helpers/a.ts is named after nothing in particular.',
        'shared/runtime/batch-job.ts is named after nothing in particular.',
      ],
      mended: { 'shared/runtime/utility-bills.ts': '', 'test/support/a.ts': '' },
    },
    'of exports': {
      breaks: {
        'schemas/a.ts':
          'export const topicManager = 1\nexport function dateHelper() {}\nconst x = 1\nexport { x as Utils }',
      },
      says: [
        'schemas/a.ts exports topicManager, a name that says nothing in particular.',
        'schemas/a.ts exports dateHelper, a name that says nothing in particular.',
        'schemas/a.ts exports Utils, a name that says nothing in particular.',
      ],
      mended: { 'schemas/a.ts': 'export const manageable = 1' },
    },
    'of classes': {
      breaks: { 'services/query/a.ts': 'class JobService {}' },
      says: ['services/query/a.ts has the class JobService; use functions that say what they do.'],
      mended: { 'services/query/a.ts': 'class ServiceError extends Error {}' },
    },
  },
  'nothing is tied to one machine': {
    'no registry': {
      breaks: {
        'package-lock.json': '"resolved": "https://registry.example.org/a.tgz"',
        'infra/a.sh': 'curl https://pypi.org/simple',
      },
      says: [
        'package-lock.json names the address of a package registry.',
        'infra/a.sh names the address of a package registry.',
      ],
      mended: { 'infra/pom.xml': 'xmlns="http://maven.apache.org/POM/4.0.0"', 'README.md': 'http://127.0.0.1:8080' },
    },
    'no path': {
      breaks: { 'infra/a.ts': "const folder = '/home/somebody/data'", 'README.md': 'cd /work/main' },
      says: ['infra/a.ts names a path of one machine.', 'README.md names a path of one machine.'],
      mended: { 'infra/a.ts': "const folder = './home/data'", 'README.md': 'the /homework page' },
    },
  },
  'texts name what exists': {
    'links and files named in the text': {
      breaks: {
        'infra/docs/a.md':
          'See [b](b.md#part) and [c](../../schemas/), and `schemas/d.ts` of [e](https://example.com/e.md).',
      },
      says: [
        'infra/docs/a.md names infra/docs/b.md, which does not exist.',
        'infra/docs/a.md names schemas, which does not exist.',
        'infra/docs/a.md names schemas/d.ts, which does not exist.',
      ],
      mended: {
        'infra/docs/a.md': 'See [a](a.md) and [b](#b), [c](../../schemas/) and `schemas/d.ts`.',
        'schemas/d.ts': '',
      },
    },
  },
  'every test is run by a tier': {
    'a name that no tier matches': {
      breaks: { 'test/unit/a.test.ts': '', 'shared/a.unit.test.ts': '', 'test/unit/b.spec.ts': '' },
      says: ['test/unit/a.test.ts', 'shared/a.unit.test.ts', 'test/unit/b.spec.ts'].map(
        (path) => `${path} is run by no tier; name it *.unit.test.ts, *.int.test.ts or *.e2e.test.ts below test/.`,
      ),
      mended: { 'test/unit/a.unit.test.ts': '' },
    },
    'tests in a file that does not look like one': {
      breaks: { 'test/unit/a.ts': "describe.each([1])('a', () => {})" },
      says: ['test/unit/a.ts is run by no tier; name it *.unit.test.ts, *.int.test.ts or *.e2e.test.ts below test/.'],
      mended: { 'test/support/a.ts': "export const suite = () => test('a', () => {})" },
    },
    'a shared suite that no test file runs': {
      breaks: { 'test/contract/log.ts': "export const logContract = () => describe('log', () => {})" },
      says: ['test/contract/log.ts is a suite that no test file runs.'],
      mended: {
        'test/contract/log.ts': "export const logContract = () => describe('log', () => {})",
        'test/unit/memory-log.unit.test.ts': "import { logContract } from '../contract/log.ts'\nlogContract()",
      },
    },
  },
  'no test is left out': {
    'nothing single, skipped, postponed or expected to fail': {
      breaks: {
        'test/a.unit.test.ts':
          "test.only('a', f)\ndescribe.skip('b', f)\nit.todo('c')\ntest.only.each([1])('d', f)\ntest.fails('e', f)",
      },
      says: ['only', 'skip', 'todo', 'only', 'fails'].map(
        (name) => `test/a.unit.test.ts uses .${name}; every test is run.`,
      ),
      mended: { 'test/a.unit.test.ts': "test('a', f)\ntest.each([1])('b', f)\nlist.only" },
    },
  },
  'tests do not sleep': {
    'by a timer': {
      breaks: {
        'test/a.ts': 'await new Promise((resolve) => setTimeout(resolve, 100))',
        'test/b.ts': 'await new Promise((done) => { globalThis.setTimeout(() => done(), 100) })',
        'test/c.ts': "import { setTimeout } from 'node:timers/promises'",
        'test/d.ts': 'Atomics.wait(a, 0, 0, 100)',
      },
      says: ['a', 'b', 'c', 'd'].map(
        (name) => `test/${name}.ts sleeps; use eventually() from test/support/eventually.ts.`,
      ),
      mended: {
        'test/a.ts': 'createServer((_, response) => setTimeout(() => response.end(), 100))',
        'test/b.ts': 'await new Promise((_, reject) => setTimeout(() => reject(new Error()), 100))',
        'test/support/eventually.ts': "import { setTimeout } from 'node:timers/promises'",
        'test/integration/fixtures/slow.ts': 'await new Promise((resolve) => setTimeout(resolve, 100))',
      },
    },
  },
}

describe.each(Object.entries(rules))('%s', (promise, rule) => {
  test('the rule is seen to fail', () => expect(Object.keys(cases[promise] ?? {})).not.toEqual([]))

  test.each(Object.entries(cases[promise] ?? {}))('%s', (_name, { breaks, says, mended }) => {
    expect(rule(tree(breaks))).toEqual(says)
    expect(rule(tree(mended))).toEqual([])
  })
})
