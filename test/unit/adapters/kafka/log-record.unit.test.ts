import type { KafkaMessage } from 'kafkajs'
import { expect, it } from 'vitest'
import { toLogRecord } from '#shared/adapters/kafka/log-record.ts'

const message = (given: object): KafkaMessage => ({
  key: Buffer.from('job'),
  value: Buffer.from('{}'),
  timestamp: '1700000000000',
  attributes: 0,
  offset: '42',
  headers: {},
  ...given,
})

it('offset and append time are numbers, key and headers are texts', () => {
  const headers = { ce_id: Buffer.from('ü/accepted') }
  const record = toLogRecord('contact-import.imports', 3, message({ headers }))
  expect(record).toMatchObject({
    topic: 'contact-import.imports',
    partition: 3,
    offset: 42,
    appendedAt: 1_700_000_000_000,
    key: 'job',
    headers: { ce_id: 'ü/accepted' },
    value: Buffer.from('{}'),
  })
  expect(record.raw).toEqual({ key: Buffer.from('job'), headers })
})

it('a record of another writer may lack key, value and headers, or repeat a header', () => {
  const bare = toLogRecord('contact-import.imports', 0, message({ key: null, value: null, headers: undefined }))
  expect(bare).toMatchObject({ key: null, value: null, headers: {} })
  const headers = { twice: [Buffer.from('1'), Buffer.from('2')], none: null }
  expect(toLogRecord('contact-import.imports', 0, message({ headers })).headers).toEqual({ twice: '2', none: '' })
})

it('one header can be read without the others', () => {
  const headers = { ce_id: Buffer.from('ü/accepted'), twice: [Buffer.from('1'), Buffer.from('2')], none: null }
  const record = toLogRecord('contact-import.imports', 0, message({ headers }))
  const names = ['ce_id', 'twice', 'none', 'absent']
  expect(names.map((name) => record.header(name))).toEqual(['ü/accepted', '2', '', undefined])
})

it('the bytes of key and headers are kept beside their texts', () => {
  const invalid = Buffer.from([0xff, 0xfe])
  const headers = { broken: invalid, twice: [invalid, Buffer.from('2')], none: null }
  const record = toLogRecord('contact-import.imports', 0, message({ key: invalid, headers }))
  expect(record.raw).toEqual({
    key: invalid,
    headers: { broken: invalid, twice: [invalid, Buffer.from('2')], none: '' },
  })
})
