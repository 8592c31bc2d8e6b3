import { execFile } from 'node:child_process'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { contracts } from '#schemas/http/contracts.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'

const script = join(repositoryRoot, 'infra', 'bench', 'import-throughput.ts')
const accepted = contracts.importContacts.responses[202].examples.accepted.value
const { pending, partly_failed: finished } = contracts.readJob.responses[200].examples

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(listener: RequestListener): Promise<string> {
  const started = createServer(listener)
  server = started
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  const address = started.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
}

type Ended = { readonly code: number | string | null; readonly stdout: string; readonly stderr: string }
const run = (...options: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, [script, '--key', 'cik_a_b', ...options], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? null), stdout, stderr }),
    )
  })

function fakeService(delivered: number) {
  const seen = { posts: 0, reads: 0, keys: new Set<unknown>() }
  const listener: RequestListener = (request, response) => {
    const answer = (status: number, body: object, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
    request.resume().on('end', () => {
      if (request.method === 'POST') {
        seen.keys.add(request.headers['idempotency-key'])
        return seen.posts++ === 0 ? answer(429, {}, { 'retry-after': '0' }) : answer(202, accepted)
      }
      const job = { ...finished.value, sent_contacts: delivered, completed_at: new Date().toISOString() }
      return answer(200, seen.reads++ % 2 === 0 ? pending.value : job)
    })
  }
  return { seen, listener }
}

test('a run prints a table and one line of JSON', async () => {
  const { seen, listener } = fakeService(accepted.valid_contacts)
  const url = await serve(listener)
  const { code, stdout, stderr } = await run('--url', url, '--imports', '3', '--contacts', '3', '--concurrency', '1')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const figures: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  expect(figures).toMatchObject({ imports: 3, contacts_accepted: 9, contacts_delivered: 6, posts_repeated: 1 })
  expect(seen).toMatchObject({ posts: 4, reads: 6 })
  expect(seen.keys.size).toBe(3)
})

test('undelivered contacts fail the run', async () => {
  const { listener } = fakeService(accepted.valid_contacts - 1)
  const { code, stderr } = await run('--url', await serve(listener), '--imports', '2', '--contacts', '3')
  expect({ code, stderr }).toEqual({ code: 1, stderr: '2 valid contacts were not delivered.\n' })
})

test('a rejected import ends the run with the response of the service', async () => {
  const url = await serve((request, response) => {
    request.resume().on('end', () => response.writeHead(401).end('{"error":"unauthorized"}'))
  })
  const { code, stderr } = await run('--url', url, '--imports', '1', '--contacts', '1')
  expect(code).toBe(1)
  expect(stderr).toContain('responded with 401 instead of 202: {"error":"unauthorized"}')
})

test('a run ends at its deadline when the service does not finish', async () => {
  const url = await serve(() => {})
  const { code, stderr } = await run('--url', url, '--imports', '1', '--contacts', '1', '--deadline', '1')
  expect(code).toBe(1)
  expect(stderr).toContain('not over after 1 s')
})

test('an address on another machine is refused', async () => {
  const { code, stderr } = await run('--url', 'http://192.0.2.1:8080')
  expect(code).toBe(2)
  expect(stderr).toContain('nothing was sent')
})
