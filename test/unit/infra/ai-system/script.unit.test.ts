import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { behaviourChooser } from '#infra/ai-system/choose-behaviour.ts'
import { parseCommand } from '#infra/ai-system/command.ts'
import { parseScript, readScript, type Script } from '#infra/ai-system/script.ts'

const request = { request: 1, attempt: 1, key: 'k', jobId: 'j', chunkIndex: 0 }
const statuses = (script: Script, requests: readonly Partial<typeof request>[], seed = 1) => {
  const choose = behaviourChooser(script, seed)
  return requests.map((change) => choose({ ...request, ...change }).status)
}

describe('script', () => {
  test('rules with `times` apply in order', () => {
    const script = {
      rules: [
        { times: 2, behave: { status: 503 } },
        { times: 1, behave: { status: 429 } },
      ],
    }
    expect(statuses(script, [{}, {}, {}, {}])).toEqual([503, 503, 429, undefined])
  })

  test('a rule applies to the requests that match all its members', () => {
    const script = {
      rules: [
        { match: { attempt: 1, chunk_index: 3 }, behave: { status: 500 } },
        { match: { request: [2, 3] }, behave: { status: 502 } },
        { match: { key: 'x' }, behave: { status: 404 } },
        { match: { job_id: 'y' }, behave: { status: 410 } },
      ],
      otherwise: { status: 204 },
    }
    expect(
      statuses(script, [
        { chunkIndex: 3 },
        { chunkIndex: 3, attempt: 2, request: 2 },
        { request: 3 },
        { request: 4, key: 'x' },
        { request: 5, jobId: 'y' },
        { request: 6 },
      ]),
    ).toEqual([500, 502, 502, 404, 410, 204])
  })

  test('a rate applies to its share of requests, the same requests for the same seed', () => {
    const script = { rules: [{ rate: 0.3, behave: { status: 503 } }] }
    const many = Array.from({ length: 10_000 }, () => ({}))
    const failed = statuses(script, many, 7)
    expect(failed.filter(Boolean).length).toBeGreaterThan(2_800)
    expect(failed.filter(Boolean).length).toBeLessThan(3_200)
    expect(statuses(script, many, 7)).toEqual(failed)
    expect(statuses(script, many, 8)).not.toEqual(failed)
  })

  test('each fault of a script is reported with its JSON Pointer', () => {
    const bad = { rules: [{ match: { attempts: 1 }, behave: { status: 99 } }], otherwise: { hang: 'sometimes' } }
    expect(() => parseScript(bad, 'bad.json')).toThrow(/bad\.json is not a valid script/)
    for (const part of ['/rules/0/match', '"attempts" is unknown', '/rules/0/behave/status', '/otherwise/hang']) {
      expect(() => parseScript(bad)).toThrow(part)
    }
  })
})

describe('script file', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'script-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('a valid file is read; an invalid and a missing file give different errors', () => {
    const file = join(folder, 's.json')
    writeFileSync(file, '{"otherwise":{"status":202}}')
    expect(readScript(file)).toEqual({ otherwise: { status: 202 } })
    expect(parseCommand(['--script', file])).toMatchObject({ script: { otherwise: { status: 202 } } })
    writeFileSync(file, '{')
    expect(() => readScript(file)).toThrow(/not JSON/)
    expect(() => readScript(join(folder, 'none.json'))).toThrow(/cannot be read/)
  })
})

describe('command', () => {
  test('the default options have no delay', () => {
    expect(parseCommand([])).toEqual({ port: 9090, host: '127.0.0.1', latencyMs: 0, seed: 1 })
  })

  test('every flag is read', () => {
    const args = '--port 0 --host ::1 --latency 20 --fail-rate 0.25 --status 429 --seed 9'.split(' ')
    expect(parseCommand(args)).toEqual({ port: 0, host: '::1', latencyMs: 20, failRate: 0.25, status: 429, seed: 9 })
  })

  test('every fault is reported with the usage', () => {
    const faulty = () => parseCommand(['--port', 'x', '--fail-rate', '2', '--status', '99'])
    for (const part of ['--port', '--fail-rate', '--status', 'Usage:']) expect(faulty).toThrow(part)
    expect(() => parseCommand(['--sped', '1'])).toThrow(/--sped/)
  })
})
