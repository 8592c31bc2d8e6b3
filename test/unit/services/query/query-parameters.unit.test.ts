import { expect, test } from 'vitest'
import { readListParameters, readWait } from '#services/query/query-parameters.ts'
import { ServiceError } from '#shared/errors/service-error.ts'

function faultsOf(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'validation_failed') throw error
    return error.details?.map(({ pointer, code }) => `${pointer} ${code}`)
  }
}

test('without parameters, the limit is 20 and no filter is set', () => {
  expect(readListParameters({})).toEqual({ status: null, createdAfter: null, limit: 20, cursor: null })
})

test('every parameter is read, and created_after is converted to UTC', () => {
  const given = { status: 'failed', created_after: '2026-01-31T12:30:00.0005+03:00', limit: '100', cursor: 'x' }
  expect(readListParameters(given)).toEqual({
    status: 'failed',
    createdAfter: '2026-01-31T09:30:00.000Z',
    limit: 100,
    cursor: 'x',
  })
})

test.each([
  [{ status: 'done' }, ['/status invalid_format']],
  [{ status: ['failed', 'failed'] }, ['/status invalid_format']],
  [{ created_after: 'yesterday' }, ['/created_after invalid_format']],
  [{ created_after: '2026-01-31' }, ['/created_after invalid_format']],
  [{ limit: '0' }, ['/limit invalid_format']],
  [{ limit: '101' }, ['/limit invalid_format']],
  [{ limit: '1e1' }, ['/limit invalid_format']],
  [{ limit: '' }, ['/limit invalid_format']],
  [{ 'a/b': '1', stauts: 'x' }, ['/a~1b unknown_field', '/stauts unknown_field']],
  [{ status: '', limit: '-1' }, ['/status invalid_format', '/limit invalid_format']],
])('%j is rejected with all its faults', (given, faults) => {
  expect(faultsOf(() => readListParameters(given))).toEqual(faults)
})

test.each([
  [{}, 0],
  [{ wait: '0' }, 0],
  [{ wait: '30' }, 30],
])('the query %j means a wait of %i seconds', (given, seconds) => expect(readWait(given)).toBe(seconds))

test.each(['31', '-1', '1.5', '', ' 5', 'five', ['1', '2']])('the wait %j is rejected', (wait) => {
  expect(faultsOf(() => readWait({ wait }))).toEqual(['/wait invalid_format'])
})
