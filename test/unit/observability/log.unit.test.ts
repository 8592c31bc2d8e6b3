import { describe, expect, test } from 'vitest'
import { createLog } from '#shared/observability/log.ts'

function captured() {
  const lines: string[] = []
  const log = createLog({ level: 'info', service: 'ingest', destination: { write: (line) => lines.push(line) } })
  return { log, lines, last: (): unknown => JSON.parse(lines.at(-1) ?? 'null') }
}

describe('log', () => {
  test('a line is one JSON object with level, time, service, fields and message', () => {
    const { log, last } = captured()
    log.child({ partition: 3 }).info({ job_id: 'j', decision: 'send' }, 'chunk delivered')
    expect(last()).toMatchObject({
      level: 'info',
      service: 'ingest',
      partition: 3,
      job_id: 'j',
      msg: 'chunk delivered',
    })
    expect(last()).toHaveProperty('time', expect.stringMatching(/^\d{4}-.*Z$/))
  })

  test('a line below the configured level is not written', () => {
    const { log, lines } = captured()
    log.debug({}, 'unseen')
    expect(lines).toEqual([])
  })

  test('contact data, keys and secrets are replaced at any depth', () => {
    const { log, lines, last } = captured()
    log.warn(
      {
        phone: '89991234567',
        contacts: [{ phone: '1' }],
        nested: { list: [{ additional_fields: { a: 'leak-1' }, authorization: 'leak-2' }] },
        headers: { Authorization: 'leak-3', 'X-Signature': 'leak-4' },
        tags: ['leak-5'],
        bytes: Buffer.from('leak-6'),
        text: 'called +7 (999) 123-45-67 now',
      },
      'm',
    )
    expect(lines.join()).not.toMatch(/leak|9991234567|123-45-67/)
    expect(last()).toMatchObject({ text: 'called [phone] now', bytes: '[6 bytes]' })
  })

  test.each([
    'called 89991234567.',
    'dup key: { _id: "cl_1:order-79991234567" }',
    '{"value":"9991234567"}',
    '"49151234567890", 12',
    'called +7 (999) 123-45-67',
  ])('a phone number in the text %j is replaced, in a field and in the message of an error', (text) => {
    const { log, last } = captured()
    log.warn({ text, err: new Error(text, { cause: new Error(text) }) }, 'm')
    expect(JSON.stringify(last())).not.toMatch(/\d{7}|123-45-67/)
    expect(last()).toMatchObject({ text: expect.stringContaining('[phone]') })
  })

  test.each([
    '0b9f7c1e-5d34-4a53-9f0e-123456789012 failed',
    'the offset 12345678901 is above the end',
    'no record at timestamp=1769850600000, position: 98765432109',
    'appended at 1769850600000 by the broker',
    '2026-01-31T09:30:00.123456789Z was too late',
    'object 507f1f77bcf86cd799439011 of trace 4bf92f3577b34da6a3ce929d0e0e4736',
    '12345678901',
    'cl_1234567890123',
    'heap of 123456789 bytes',
  ])('the text %j is unchanged: ids, times and offsets are needed', (text) => {
    const { log, last } = captured()
    log.warn({ text }, 'm')
    expect(last()).toMatchObject({ text })
  })

  test('an own member named __proto__ is redacted like any other member', () => {
    const { log, lines, last } = captured()
    const fields: Record<string, unknown> = JSON.parse(
      '{"a":{"__proto__":{"phone":"leak","seen":1}},"__proto__":{"b":2}}',
    )
    log.info(fields, 'm')
    expect(lines.join()).not.toContain('leak')
    expect(lines.join()).toContain('"a":{"__proto__":{"phone":"[withheld]","seen":1}}')
    expect(last()).toMatchObject({ msg: 'm', a: expect.anything() })
  })

  test('a number is kept under `contacts` and replaced under `phone`', () => {
    const { log, last } = captured()
    log.info({ contacts: 500, phone: 79991234567 }, 'm')
    expect(last()).toMatchObject({ contacts: 500, phone: '[withheld]' })
  })

  test('an error is logged with type, code, message, stack and causes, without members that a driver added', () => {
    const { log, lines, last } = captured()
    const cause = Object.assign(new Error('refused +79991234567'), { code: 'ECONNREFUSED', document: { name: 'leak' } })
    log.error({ err: new Error('failed', { cause }) }, 'm')
    expect(last()).toMatchObject({
      err: { type: 'Error', message: 'failed', cause: { code: 'ECONNREFUSED', message: 'refused [phone]' } },
    })
    expect(lines.join()).not.toMatch(/leak|79991234567/)
  })

  test('the message of a SyntaxError, which quotes the parsed text, is replaced', () => {
    const { log, lines } = captured()
    try {
      JSON.parse('{"phone": leak}')
    } catch (err) {
      log.error({ err }, 'm')
    }
    expect(lines.join()).toContain('SyntaxError')
    expect(lines.join()).not.toContain('leak')
  })

  test('a circular field is logged', () => {
    const { log, lines } = captured()
    const loop: Record<string, unknown> = {}
    loop.self = loop
    log.info({ loop }, 'm')
    expect(lines).toHaveLength(1)
  })
})
