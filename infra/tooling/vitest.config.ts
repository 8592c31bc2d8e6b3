import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('../..', import.meta.url))
const backingServices = 'test/support/backing/backing-services.ts'

/**
 * One project per tier. The contract suites in test/contract are run by the unit tests of the adapters in memory and by the
 * integration tests of the real ones. Only the tiers that need real Kafka and MongoDB start them.
 */
export default defineConfig({
  root,
  test: {
    reporters: ['default'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.unit.test.ts'], testTimeout: 30_000 },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/**/*.int.test.ts'],
          globalSetup: [backingServices],
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
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: { name: 'ops', include: ['test/**/*.ops.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
})
