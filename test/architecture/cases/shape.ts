import type { Cases } from './cases.ts'

const adr = '# 2. A\n## Context\n## Decision\n## Consequences\n## Rejected options\n'

export const shapeCases: Cases = {
  'ports are types': {
    'no function': {
      broken: { 'shared/ports/a.ts': 'export const now = () => 1' },
      faults: ['shared/ports/a.ts must contain only types and constant tuples.'],
      repaired: {
        'shared/ports/a.ts': "export const words = ['a'] as const\nexport type Word = (typeof words)[number]",
      },
    },
    'no class': {
      broken: { 'shared/ports/a.ts': 'export class A {}' },
      faults: ['shared/ports/a.ts must contain only types and constant tuples.'],
      repaired: { 'shared/ports/a.ts': 'export interface A { now(): number }' },
    },
  },
  'the top folder has only the listed entries': {
    'no other folder or file': {
      broken: { 'lib/a.ts': '', 'NOTES.md': '' },
      faults: [
        'lib must not be in the top folder; see the table of folders in README.md.',
        'NOTES.md must not be in the top folder; see the table of folders in README.md.',
      ],
      repaired: { 'README.md': '', '.gitignore': '', '.ci/run': '', 'infra/docs/adr/a.md': '' },
    },
  },
  'names are specific': {
    'file names': {
      broken: { 'shared/runtime/string-utils.ts': '', 'test/helpers/a.ts': '', 'shared/runtime/batch-job.ts': '' },
      faults: [
        'shared/runtime/string-utils.ts has a vague name.',
        'test/helpers/a.ts has a vague name.',
        'shared/runtime/batch-job.ts has a vague name.',
      ],
      repaired: { 'shared/runtime/utility-bills.ts': '', 'test/support/a.ts': '' },
    },
    'names of exports': {
      broken: {
        'schemas/a.ts':
          'export const topicManager = 1\nexport function dateHelper() {}\nconst x = 1\nexport { x as Utils }',
      },
      faults: [
        'schemas/a.ts exports topicManager, which is a vague name.',
        'schemas/a.ts exports dateHelper, which is a vague name.',
        'schemas/a.ts exports Utils, which is a vague name.',
      ],
      repaired: { 'schemas/a.ts': 'export const manageable = 1' },
    },
    'names of classes': {
      broken: { 'services/query/a.ts': 'class JobService {}' },
      faults: ['services/query/a.ts has the class JobService; use functions.'],
      repaired: { 'services/query/a.ts': 'class ServiceError extends Error {}' },
    },
  },
  'no file depends on one machine': {
    'the address of a package registry': {
      broken: {
        'package-lock.json': '"resolved": "https://registry.example.org/a.tgz"',
        'infra/a.sh': 'curl https://pypi.org/simple',
      },
      faults: [
        'package-lock.json contains the address of a package registry.',
        'infra/a.sh contains the address of a package registry.',
      ],
      repaired: { 'infra/pom.xml': 'xmlns="http://maven.apache.org/POM/4.0.0"', 'README.md': 'http://127.0.0.1:8080' },
    },
    'an absolute path': {
      broken: { 'infra/a.ts': "const folder = '/home/somebody/data'", 'README.md': 'cd /root/checkout' },
      faults: [
        'infra/a.ts contains an absolute path of one machine.',
        'README.md contains an absolute path of one machine.',
      ],
      repaired: { 'infra/a.ts': "const folder = './home/data'", 'README.md': 'the /homework page' },
    },
  },
  'references in documents exist': {
    'links, files and folders': {
      broken: {
        'infra/docs/a.md':
          'See [b](b.md#part) and [c](../../schemas/), and `schemas/d.ts` of [e](https://example.com/e.md), `test/f/`.',
      },
      faults: ['infra/docs/b.md', 'schemas', 'schemas/d.ts', 'test/f'].map(
        (to) => `infra/docs/a.md refers to ${to}, which does not exist.`,
      ),
      repaired: {
        'infra/docs/a.md':
          'See [a](a.md) and [b](#b), [c](../../schemas/) and `schemas/d.ts`, `schemas/`, `schemas/generated/e`.',
        'schemas/d.ts': '',
      },
    },
    'files and scripts in commands': {
      broken: { 'README.md': 'node infra/bench/a.ts\nnpm run --silent admin\nnpm run test:none', 'package.json': '{}' },
      faults: [
        'README.md refers to infra/bench/a.ts, which does not exist.',
        'README.md refers to the npm script admin, which does not exist.',
        'README.md refers to the npm script test:none, which does not exist.',
      ],
      repaired: {
        'README.md': 'node infra/bench/a.ts\nnpm run --silent admin',
        'package.json': '{"scripts":{"admin":""}}',
        'infra/bench/a.ts': '',
      },
    },
  },
  'ADRs follow the template': {
    'a number, four sections and at most 24 lines': {
      broken: { 'infra/docs/adr/0002-a.md': `# 3. A\n## Context\n## Decision\n${'\n'.repeat(22)}x` },
      faults: [
        'infra/docs/adr/0002-a.md has 26 lines; the limit is 24.',
        'infra/docs/adr/0002-a.md does not begin with "# 2. ".',
        'infra/docs/adr/0002-a.md does not have the sections Context, Decision, Consequences, Rejected options.',
      ],
      repaired: {
        'infra/docs/adr/0002-a.md': adr,
        'infra/docs/b.md': '\n'.repeat(30),
      },
    },
    'a number of its own': {
      broken: { 'infra/docs/adr/0002-a.md': adr, 'infra/docs/adr/0002-b.md': adr },
      faults: ['infra/docs/adr/0002-b.md has the number of another ADR.'],
      repaired: { 'infra/docs/adr/0002-a.md': adr },
    },
  },
}
