import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const root = fileURLToPath(new URL('../..', import.meta.url))
const backingServices = 'test/support/backing/backing-services.ts'

const unitTestTimeoutMs = process.env.TEST_FULL === '1' ? 120_000 : 30_000

/** At least 3, even with fewer processors, because integration tests mostly wait for timeouts of Kafka and MongoDB. */
const integrationWorkers = Math.max(3, availableParallelism())

/** The slowest files. They start first, because a slow file that starts last runs alone at the end. */
const slowest = [
  'dispatcher/rebalance',
  'dispatcher/outage',
  'projector/projector',
  'kafka/outage',
  'admin/projections',
  'backing-services/start',
  'services/outages',
  'backing-services/docker',
  'dispatcher/killed',
]

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = slowest.findIndex((name) => moduleId.includes(`/${name}.`))
      return found < 0 ? slowest.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

/** One project per test tier. A group starts when the last one has ended. `backingServices` starts Kafka and MongoDB. */
export default defineConfig({
  root,
  test: {
    reporters: ['default'],
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.unit.test.ts'],
          maxWorkers: availableParallelism(),
          testTimeout: unitTestTimeoutMs,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.int.test.ts'],
          maxWorkers: integrationWorkers,
          globalSetup: [backingServices],
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/**/*.e2e.test.ts'],
          globalSetup: [backingServices],
          sequence: { groupOrder: 2 },
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/**/*.cluster.test.ts'],
          fileParallelism: false,
          testTimeout: 480_000,
          hookTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'ops',
          include: ['test/**/*.ops.test.ts'],
          globalSetup: ['test/support/http/browser.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
