import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  type Behaviour,
  type SimulatedAiSystemOptions,
  startSimulatedAiSystem,
} from '#infra/ai-system/simulated-ai-system.ts'
import { createAiSystem } from '#shared/adapters/http/ai-system.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { afterThisTest } from '#test/support/http/servers.ts'

const contact = { phone: '+79991234567', tags: ['a'], additional_fields: { b: 1 } }

function chunkOf(options: { size?: number; declared?: number; index?: number } = {}) {
  const { size = 2, index = 0 } = options
  const declared = options.declared ?? size
  const data = {
    job_id: randomUUID(),
    correlation_id: randomUUID(),
    chunk_index: index,
    size: declared,
    contacts: Array(size).fill(contact),
  }
  return {
    body: Buffer.from(JSON.stringify(data)),
    idempotencyKey: randomUUID(),
    correlationId: data.correlation_id,
    jobId: data.job_id,
  }
}

async function start(options: SimulatedAiSystemOptions = {}) {
  const simulated = await startSimulatedAiSystem(options)
  afterThisTest(() => simulated.stop())
  const client = createAiSystem({ url: new URL(`${simulated.url}/chunks`), clock: systemClock, totalTimeoutMs: 400 })
  afterThisTest(() => client.close())
  return { simulated, deliver: client.deliver }
}

describe('the simulated AI system', () => {
  test('the counts of chunks, contacts and repeats are per key', async () => {
    const { simulated, deliver } = await start()
    const [once, twice] = [chunkOf({ size: 3 }), chunkOf({ size: 2, index: 5 })]
    for (const chunk of [once, twice, twice]) await deliver(chunk)
    expect(simulated.received()).toEqual({
      requests: 3,
      chunks: 2,
      contacts: 5,
      repeats: 1,
      repeated_keys: [twice.idempotencyKey],
      malformed: 0,
      untracked: 0,
      by_status: { 200: 3 },
    })
  })

  test('GET /received returns the counts, with keys=true for each key, and DELETE resets them', async () => {
    const { simulated, deliver } = await start()
    const chunk = chunkOf({ index: 4 })
    await deliver(chunk)
    const read = async (query = '') => (await fetch(`${simulated.url}/received${query}`)).json()
    expect(await read()).toEqual(simulated.received())
    expect(await read('?keys=true')).toEqual({
      ...simulated.received(),
      keys: [{ key: chunk.idempotencyKey, job_id: chunk.jobId, chunk_index: 4, size: 2, requests: 1, delivered: 1 }],
    })
    expect((await fetch(`${simulated.url}/received`, { method: 'DELETE' })).status).toBe(204)
    expect(await read()).toMatchObject({ requests: 0, chunks: 0, by_status: {} })
    expect(await read('?keys=true')).toMatchObject({ keys: [] })
  })

  test('a body that is not a chunk, has another size than declared or has no key gets 400 and is counted as malformed', async () => {
    const { simulated, deliver } = await start()
    const results = await Promise.all(
      [
        chunkOf({ declared: 3 }),
        { ...chunkOf(), body: Buffer.from('{}') },
        { ...chunkOf(), body: Buffer.from('no') },
      ].map(deliver),
    )
    expect(results).toMatchObject([{ status: 400 }, { status: 400 }, { status: 400 }])
    const keyless = await fetch(simulated.url, { method: 'POST', body: chunkOf().body })
    expect([keyless.status, simulated.received()]).toMatchObject([400, { requests: 0, chunks: 0, malformed: 4 }])
  })

  test('a chunk that is sent again after a failure counts as delivered once', async () => {
    const { simulated, deliver } = await start({
      script: { rules: [{ match: { attempt: 1 }, behave: { status: 503, retry_after: 2 } }] },
    })
    const chunk = chunkOf()
    expect(await deliver(chunk)).toMatchObject({ status: 503, retryAfter: '2' })
    expect(await deliver(chunk)).toMatchObject({ status: 200 })
    expect(simulated.received()).toMatchObject({ requests: 2, chunks: 1, repeats: 0, by_status: { 200: 1, 503: 1 } })
  })

  const behaviours: [string, Behaviour, object, object][] = [
    [
      'hangs before the headers',
      { hang: 'before_headers' },
      { reason: 'timeout' },
      { chunks: 0, by_status: { none: 1 } },
    ],
    ['hangs within the body', { hang: 'within_body' }, { status: 200 }, { chunks: 1 }],
    [
      'resets before the headers',
      { reset: 'before_headers' },
      { reason: 'connection_failed' },
      { chunks: 0, by_status: { none: 1 } },
    ],
    [
      'resets within the body',
      { reset: 'within_body', status: 500 },
      { status: 500 },
      { chunks: 0, by_status: { 500: 1 } },
    ],
    ['answers slowly', { delay_ms: 100 }, { status: 200 }, { chunks: 1 }],
    ['sends byte by byte', { drip_ms: 5 }, { status: 200 }, { chunks: 1 }],
    ['answers with a large body', { body_bytes: 100_000_000 }, { status: 200 }, { chunks: 1 }],
    ['redirects', { redirect_to: '/chunks' }, { status: 307 }, { chunks: 0, requests: 1 }],
  ]
  test.each(behaviours)('a script can set a behaviour that %s', async (_what, behaviour, result, received) => {
    const { simulated, deliver } = await start({ script: { otherwise: behaviour } })
    expect(await deliver(chunkOf())).toMatchObject(result)
    expect(simulated.received()).toMatchObject(received)
  })

  test('latency, fail rate and status work without a script, and the behaviour can be changed', async () => {
    const { simulated, deliver } = await start({ latencyMs: 50, failRate: 1, status: 429 })
    const result = await deliver(chunkOf())
    expect(result).toMatchObject({ status: 429 })
    expect(result.durationMs).toBeGreaterThanOrEqual(49)
    simulated.setBehaviour({ otherwise: { status: 202 } })
    expect(await deliver(chunkOf())).toMatchObject({ status: 202 })
    expect(simulated.received()).toMatchObject({ chunks: 1, by_status: { 202: 1, 429: 1 } })
  })
})
