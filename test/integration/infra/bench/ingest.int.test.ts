import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { repositoryRoot } from '#test/support/repository-root.ts'

const run = promisify(execFile)
const script = join(repositoryRoot, 'infra', 'bench', 'ingest.ts')
const environment = () => ({
  ...process.env,
  KAFKA_BROKERS: inject('kafkaBrokers').join(','),
  MONGODB_URL: inject('mongodbUrl'),
})

test('the ingest benchmark measures first requests, replays and bare Fastify in one run', async () => {
  const options = ['--sizes', '10,700', '--contacts', '1000']
  const { stdout } = await run(process.execPath, [script, ...options], { env: environment() })
  const { results } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  expect(results).toMatchObject([
    { contacts_per_request: 10, requests: 100 },
    { contacts_per_request: 700, requests: 16 },
  ])
  for (const result of results) {
    for (const [name, figure] of Object.entries(result)) expect(figure, name).toBeGreaterThanOrEqual(0)
    expect(result.cpu_ms_per_request).toBeGreaterThan(result.bare_cpu_ms_per_request)
  }
})

test('the ingest benchmark prints its usage when it is called with wrong arguments', async () => {
  const wrongly = run(process.execPath, [script, '--sizes', '0'], { env: environment() })
  await expect(wrongly).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--sizes') })
})
