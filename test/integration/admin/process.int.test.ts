import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'

const main = join(repositoryRoot, 'services/admin/main.ts')

type Ended = { readonly exitCode: unknown; readonly stdout: string; readonly stderr: string }

const run = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  new Promise<Ended>((resolve) => {
    execFile(process.execPath, [main, ...args], { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ exitCode: error?.code ?? 0, stdout, stderr }),
    )
  })

test('the process prints one JSON value or its help to stdout, messages to stderr, and exits', async () => {
  const { db } = temporaryMongo()
  const env = { MONGODB_URL: inject('mongodbUrl'), MONGODB_DATABASE: db.databaseName }
  const created = await run(['clients', 'create', '--name', 'Shop'], env)
  expect(created).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('No command can show them again') })
  expect(JSON.parse(created.stdout)).toEqual({
    client_id: expect.stringMatching(/^cl_/),
    api_key: expect.stringMatching(/^cik_/),
  })
  const help = await run(['--help'], {})
  expect(help).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^Usage: .*\n {2}clients create/), stderr: '' })
  const unknown = await run(['projections', 'explode'], env)
  expect(unknown).toMatchObject({ exitCode: 2, stdout: '' })
  expect(unknown.stderr).toMatch(/no command "projections explode".*\n\n.*\n {2}clients create/)
  expect(await run(['clients', 'revoke', 'cl_none'], env)).toMatchObject({ exitCode: 1, stdout: '' })
})
