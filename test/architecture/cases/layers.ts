import type { Cases } from './cases.ts'

export const layerCases: Cases = {
  'imports stay in their layers': {
    'schemas import only schemas': {
      broken: { 'schemas/a.ts': "import type { B } from '../shared/ports/b.ts'\nimport 'node:fs'\nimport 'ajv'" },
      faults: [
        'schemas/a.ts may not import shared/ports/b.ts.',
        'schemas/a.ts may not use node:fs: schemas/ is pure.',
        'schemas/a.ts may not use the package ajv.',
      ],
      repaired: { 'schemas/a.ts': "import { Type } from '@sinclair/typebox/compiler'\nimport './http/b.ts'" },
    },
    'the domain imports only schemas; type imports count': {
      broken: { 'shared/domain/a.ts': "import type { Clock } from '#shared/ports/clock.ts'" },
      faults: ['shared/domain/a.ts may not import shared/ports/clock.ts.'],
      repaired: { 'shared/domain/a.ts': "import type { Contact } from '#schemas/contact.ts'" },
    },
    'an inline type import is an import': {
      broken: { 'shared/domain/a.ts': "export type A = import('../ports/clock.ts').Clock" },
      faults: ['shared/domain/a.ts may not import shared/ports/clock.ts.'],
      repaired: { 'shared/domain/a.ts': "export type A = import('./b.ts').B" },
    },
    'only phone.ts imports the phone library': {
      broken: { 'shared/domain/import/plan.ts': "import x from 'libphonenumber-js/max'" },
      faults: [
        'shared/domain/import/plan.ts may not use the package libphonenumber-js; only shared/domain/phone.ts may use it.',
      ],
      repaired: { 'shared/domain/phone.ts': "import x from 'libphonenumber-js/max'" },
    },
    'ports import only types': {
      broken: { 'shared/ports/a.ts': "import { topics } from '#schemas/events/catalogue.ts'" },
      faults: ['shared/ports/a.ts may import only types from schemas/events/catalogue.ts.'],
      repaired: { 'shared/ports/a.ts': "import { type Topic } from '#schemas/events/catalogue.ts'" },
    },
    'an adapter imports ports, not the domain or another adapter': {
      broken: {
        'shared/adapters/kafka/a.ts': "export * from '#shared/domain/phone.ts'\nexport { b } from '../mongo/b.ts'",
      },
      faults: [
        'shared/adapters/kafka/a.ts may not import shared/domain/phone.ts.',
        'shared/adapters/kafka/a.ts may not import shared/adapters/mongo/b.ts.',
      ],
      repaired: {
        'shared/adapters/kafka/a.ts': "import './b.ts'\nimport '#shared/ports/clock.ts'",
        'test/twins/event-log.ts': "import '#shared/adapters/kafka/produce/partition-for.ts'",
      },
    },
    'config, errors and observability do not import adapters': {
      broken: { 'shared/errors/a.ts': "await import('#shared/adapters/mongo/connect.ts')" },
      faults: ['shared/errors/a.ts may not import shared/adapters/mongo/connect.ts.'],
      repaired: { 'shared/errors/a.ts': "await import('#shared/runtime/dependency-lost.ts')" },
    },
    'only dev imports other services': {
      broken: { 'services/query/a.ts': "import '../ingest/b.ts'\nimport '#shared/domain/phone.ts'" },
      faults: ['services/query/a.ts may not import services/ingest/b.ts.'],
      repaired: { 'services/dev/compose.ts': "import '../ingest/b.ts'", 'services/query/a.ts': "import './b.ts'" },
    },
    'only compose.ts imports adapters': {
      broken: { 'services/query/main.ts': "import '#shared/adapters/mongo/connect.ts'" },
      faults: ['services/query/main.ts may not import shared/adapters/mongo/connect.ts.'],
      repaired: { 'services/query/compose.ts': "import '#shared/adapters/mongo/connect.ts'" },
    },
    'the URL of a worker file is an import': {
      broken: { 'services/ingest/a.ts': "new URL('../query/worker.ts', import.meta.url)" },
      faults: ['services/ingest/a.ts may not import services/query/worker.ts.'],
      repaired: {
        'services/ingest/a.ts': "new URL('./worker.ts', import.meta.url); new URL('../..', import.meta.url)",
      },
    },
    'only its adapter imports a vendor package': {
      broken: {
        'services/query/compose.ts': "import { MongoClient } from 'mongodb'",
        'services/dispatcher/compose.ts': "import { Kafka } from 'kafkajs'",
        'shared/runtime/a.ts': "import { request } from 'undici'",
      },
      faults: [
        'services/query/compose.ts may not use the package mongodb; only shared/adapters/mongo/ may use it.',
        'services/dispatcher/compose.ts may not use the package kafkajs; only shared/adapters/kafka/ may use it.',
        'shared/runtime/a.ts may not use the package undici; only shared/adapters/http/ may use it.',
      ],
      repaired: {
        'shared/adapters/mongo/a.ts': "import { MongoClient } from 'mongodb'",
        'shared/adapters/kafka/a.ts': "import { Kafka } from 'kafkajs'",
        'shared/adapters/http/a.ts': "import { request } from 'undici'",
      },
    },
    'services import neither infra nor tests': {
      broken: { 'services/dev/a.ts': "import '../../infra/a.ts'\nimport '../../test/b.ts'" },
      faults: ['services/dev/a.ts may not import infra/a.ts.', 'services/dev/a.ts may not import test/b.ts.'],
      repaired: { 'test/unit/a.ts': "import '../../infra/a.ts'" },
    },
    'benchmarks import only test/support, and tests import no benchmark': {
      broken: {
        'infra/bench/a.ts': "import '../../test/unit/b.ts'",
        'infra/setup/a.ts': "import '#test/support/builders/b.ts'",
        'test/unit/a.ts': "import '#infra/bench/b.ts'",
      },
      faults: [
        'infra/bench/a.ts may not import test/unit/b.ts.',
        'infra/setup/a.ts may not import test/support/builders/b.ts.',
        'test/unit/a.ts may not import infra/bench/b.ts.',
      ],
      repaired: {
        'infra/bench/a.ts': "import '#test/support/builders/b.ts'",
        'test/unit/a.ts': "import '#infra/start/b.ts'",
      },
    },
    'a new folder needs a line in the table': {
      broken: { 'shared/novelty/a.ts': "import './b.ts'" },
      faults: ['shared/novelty/a.ts belongs to no layer; add its folder to the table in test/architecture/layers.ts.'],
      repaired: { 'shared/runtime/a.ts': "import './b.ts'" },
    },
  },
  'imports have no cycles': {
    'a cycle through type imports and re-exports': {
      broken: {
        'schemas/a.ts': "import type { B } from './b.ts'",
        'schemas/b.ts': "export { c } from './c.ts'",
        'schemas/c.ts': "export * from '#schemas/a.ts'",
      },
      faults: ['schemas/a.ts → schemas/b.ts → schemas/c.ts → schemas/a.ts is a cycle.'],
      repaired: {
        'schemas/a.ts': "import './b.ts'\nimport './c.ts'",
        'schemas/b.ts': "import './c.ts'",
        'schemas/c.ts': '',
      },
    },
  },
}
