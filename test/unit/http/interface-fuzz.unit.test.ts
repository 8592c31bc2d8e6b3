import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mismatchOf, type Operation, operations, valuesOf } from '#test/support/http/openapi.ts'
import { propertyRuns } from '#test/support/property-runs.ts'
import { createMemoryApp, type MemoryApp } from '#test/support/system/memory-app.ts'

let memory: MemoryApp
beforeAll(async () => {
  memory = await createMemoryApp()
})
afterAll(() => memory.app.close())

type Call = {
  readonly operation: Operation
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

const optional = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
/** The schemas of these parameters also match many values that the service rejects. Only `fault` sets them. */
const withoutValidValues = new Set([
  'content-encoding',
  'x-signature',
  'x-timestamp',
  'idempotency-key',
  'cursor',
  'limit',
  'wait',
])

/** Generates a request that matches the OpenAPI document. */
const call = (operation: Operation): fc.Arbitrary<Call> => {
  const given = operation.parameters.filter(({ name }) => !withoutValidValues.has(name))
  const values = (where: string) =>
    fc.record(
      Object.fromEntries(
        given
          .filter((one) => one.in === where)
          .map(({ name, required, schema }) => [name, required ? valuesOf(schema) : optional(valuesOf(schema))]),
      ),
    )
  return fc
    .tuple(
      values('path'),
      values('query'),
      values('header'),
      operation.body === undefined ? fc.constant(undefined) : valuesOf(operation.body),
    )
    .map(([params, query, headers, body]) => ({
      operation,
      params: textsIn(params),
      query: textsIn(query),
      headers: {
        ...textsIn(headers),
        ...(body === undefined ? {} : { 'idempotency-key': randomUUID(), 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    }))
}

const textsIn = (values: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  )

const odd = fc.oneof(
  fc.constantFrom('', ' ', 'true', 'TRUE', 'gzip', 'br', '\u00e9', '0', '-1', 'NaN', 'null', '2026-01-01T00:00:00Z'),
  fc.stringMatching(/^[\x20-\x7e]{0,40}$/),
  fc.integer({ min: 256, max: 4_000 }).map((length) => 'x'.repeat(length)),
)
const namesIn = (where: string): readonly string[] =>
  operations.flatMap(({ parameters }) => parameters.filter((one) => one.in === where).map(({ name }) => name))
const headerNames = [...new Set(namesIn('header'))]
const queryNames = [...new Set(namesIn('query'))]

/** Makes one part of a call invalid or unusual. */
type Fault = (call: Call) => Call
const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.tuple(fc.constantFrom(...headerNames, 'authorization', 'content-type', 'expect', 'accept'), odd).map(
    ([name, value]): Fault =>
      (it) => ({ ...it, headers: { ...it.headers, [name]: value } }),
  ),
  fc.constantFrom('idempotency-key', 'content-type').map(
    (name): Fault =>
      (it) => ({
        ...it,
        headers: Object.fromEntries(Object.entries(it.headers).filter(([other]) => other !== name)),
      }),
  ),
  fc.string({ unit: 'binary', maxLength: 20 }).map(
    (text): Fault =>
      (it) => ({
        ...it,
        params: Object.fromEntries(Object.keys(it.params).map((name) => [name, text])),
      }),
  ),
  fc.tuple(fc.constantFrom(...queryNames, 'x'), odd).map(
    ([name, value]): Fault =>
      (it) => ({ ...it, query: { ...it.query, [name]: value } }),
  ),
  fc.tuple(fc.nat(), fc.nat({ max: 12 }), fc.uint8Array({ maxLength: 4 })).map(
    ([at, length, bytes]): Fault =>
      (it) => {
        const { body = Buffer.from('{}') } = it
        const from = at % (body.length + 1)
        return { ...it, body: Buffer.concat([body.subarray(0, from), bytes, body.subarray(from + length)]) }
      },
  ),
  fc
    .tuple(
      fc.nat(),
      fc.constantFrom('null', '1e999', '"x"', '[]', '{}', '{"__proto__":1}', '[[[[[[[[[[]]]]]]]]]]', '-0', '"\\ud800"'),
    )
    .map(
      ([at, value]): Fault =>
        (it) => ({ ...it, body: replaceValue(it.body, at, value) }),
    ),
  fc.boolean().map(
    (whole): Fault =>
      (it) => {
        const zipped = gzipSync(it.body ?? '')
        const body = whole ? zipped : zipped.subarray(0, zipped.length / 2)
        return { ...it, headers: { ...it.headers, 'content-encoding': 'gzip' }, body }
      },
  ),
  fc.oneof(anyBytes(), fc.json().map(Buffer.from)).map(
    (body): Fault =>
      (it) => ({ ...it, body }),
  ),
)

function anyBytes() {
  return fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes))
}

function replaceValue(body: Buffer | undefined, at: number, value: string): Buffer {
  const text = String(body ?? '')
  const values = [...text.matchAll(/(?<=[:[,])(?:"(?:[^"\\]|\\.)*"(?!:)|-?\d[\d.eE+-]*|null|true|false)/g)]
  const chosen = values[at % Math.max(1, values.length)]
  if (chosen === undefined) return Buffer.from(value)
  return Buffer.from(text.slice(0, chosen.index) + value + text.slice(chosen.index + chosen[0].length))
}

async function send({ operation, params, query, headers, body }: Call) {
  const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent((params[name] ?? '').toWellFormed()),
  )
  const request: InjectOptions = {
    method: operation.method === 'POST' ? 'POST' : 'GET',
    url,
    query,
    headers: { authorization: `Bearer ${memory.apiKey}`, ...headers },
  }
  const reply = await memory.app.inject(body === undefined ? request : { ...request, payload: body })
  const type = String(reply.headers['content-type'] ?? '')
  return { url, reply, answer: { status: reply.statusCode, type, body: reply.body } }
}

const anyCall = fc.oneof(
  ...operations.map((one) => ({ weight: one.body === undefined ? 1 : 12, arbitrary: call(one) })),
)

test('a request that matches the OpenAPI document is accepted, and its response matches the document', async () => {
  await fc.assert(
    fc.asyncProperty(anyCall, async (one) => {
      const { answer } = await send(one)
      const wanted = one.operation.body === undefined ? [200, 404] : [200, 202]
      if (!wanted.includes(answer.status)) throw new Error(`${answer.status} ${answer.body}`)
      const mismatch = mismatchOf(one.operation, answer)
      if (mismatch !== null) throw new Error(mismatch)
    }),
    { numRuns: propertyRuns(400, 2_000) },
  )
}, 60_000)

test('an invalid request gets no 5xx status, and its response matches the OpenAPI document', async () => {
  const seen = new Map<number, number>()
  const faulty = fc.tuple(anyCall, fc.array(fault, { minLength: 1, maxLength: 3 }))
  await fc.assert(
    fc.asyncProperty(faulty, async ([one, faults]) => {
      const { url, answer, reply } = await send(faults.reduce((call, apply) => apply(call), one))
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      if (answer.status >= 500) throw new Error(`${answer.status} ${answer.body}`)
      if (reply.headers['x-correlation-id'] === undefined) throw new Error('no correlation id')
      const emptyParameter = url.endsWith('/') && answer.status === 404
      const mismatch = emptyParameter ? null : mismatchOf(one.operation, answer)
      if (mismatch !== null) throw new Error(`${mismatch} ${answer.body}`)
    }),
    { numRuns: propertyRuns(2_000, 10_000) },
  )
  for (const status of [200, 202, 400, 401, 404, 415])
    expect(seen.get(status), String(status)).toBeGreaterThan(propertyRuns(0, 50))
}, 120_000)
