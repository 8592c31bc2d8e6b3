import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { createProducer } from '../support/http/producer.ts'
import { createNpmStart, type NpmStart } from '../support/system/npm-start.ts'

const root = join(import.meta.dirname, '..', '..')
const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(
  ([, text = '']) => text.trim(),
)
const written = 'http://127.0.0.1:8080'

const [start, test, key, post, get, admin, ...others] = blocks

let system: NpmStart
let environment: Record<string, string>

beforeAll(async () => {
  system = await createNpmStart()
  await system.start()
})
afterAll(() => system?.remove())

async function shell(commands: string, more: Record<string, string> = {}): Promise<string> {
  const env = {
    ...process.env,
    ...system.environment(),
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    ...more,
  }
  const child = spawn('bash', ['-euo', 'pipefail', '-c', commands.replaceAll(written, system.url)], { cwd: root, env })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`${commands}\nended with ${code}:\n${errors}`)
  return output
}

describe('README', () => {
  it('contains only the commands that this test runs', () => {
    expect([start, test, others]).toEqual(['npm start', 'npm test', []])
    expect(readFileSync(join(root, '.ci', 'run'), 'utf8')).toMatch(/\bnpm test\b/)
  })

  it('starts the system, which prints its URL and the demo key', () => {
    expect(system.output()).toMatch(new RegExp(`^ready ${system.url}`, 'm'))
    expect(system.output()).toContain(system.apiKey())
  })

  it('imports the sample file with the demo key, and reads the job until it is completed', async () => {
    expect(key).toBe('export API_KEY=cik_…')
    environment = { API_KEY: system.apiKey() }
    const accepted = JSON.parse(await shell(post ?? '', environment))
    expect(accepted).toMatchObject({ status: 'pending', idempotency_status: 'created' })
    expect(accepted.invalid_contacts).toBeGreaterThan(0)
    expect(await shell(post ?? '', environment)).toBe(JSON.stringify(accepted))

    const [exported = '', ...reading] = (get ?? '').split('\n')
    expect(exported).toBe('export JOB_ID=…')
    const read = async () => JSON.parse(await shell(reading.join('\n'), { ...environment, JOB_ID: accepted.job_id }))
    const job = await eventually(async () => {
      const found = await read()
      expect(found.status).toBe('completed')
      return found
    })
    expect(job.sent_contacts).toBe(accepted.valid_contacts)
  })

  it('runs the admin commands', async () => {
    const commands = (admin ?? '').split('\n')
    const client = JSON.parse(await shell(commands[0] ?? ''))
    expect(client).toMatchObject({ client_id: expect.any(String), api_key: expect.stringMatching(/^cik_/) })
    const { status } = await createProducer(system.url, client.api_key).post('[]')
    expect(status).toBe(400)
    for (const command of commands.slice(1)) JSON.parse(await shell(command))
  })

  it('starts a second time with the same data and key, and ends on Ctrl-C with exit code 0', async () => {
    const before = system.apiKey()
    expect(await system.interrupt()).toBe(0)
    const tookMs = await system.start()
    console.log(`The second start took ${(tookMs / 1_000).toFixed(1)} s; the target is 15 s.`)
    // The limit is above the target, because other work can slow the machine down.
    expect(tookMs).toBeLessThan(60_000)
    expect(system.output()).toContain(before)
    const answer = JSON.parse(await shell(post ?? '', environment))
    const job = await createProducer(system.url, before).finishedJob(answer.job_id)
    expect(job.status).toBe('completed')
    expect(await system.interrupt()).toBe(0)
  })
})
