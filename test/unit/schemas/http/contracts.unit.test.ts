import { describe, expect, test } from 'vitest'
import { errorCodes } from '#schemas/errors.ts'
import {
  type Contract,
  commonErrors,
  contractList,
  contracts,
  type Payload,
  permissions,
} from '#schemas/http/contracts.ts'
import { faultsOf } from '#test/support/http/schema-validator.ts'

const named = contractList.map((contract): [string, Contract] => [`${contract.method} ${contract.url}`, contract])
const payloads = named.flatMap(([name, { body, responses }]): [string, Payload][] => [
  ...(body ? [[`${name} request`, body] satisfies [string, Payload]] : []),
  ...Object.entries(responses).map(([status, answer]): [string, Payload] => [`${name} ${status}`, answer]),
])

describe('contracts', () => {
  test('the service has exactly these endpoints', () => {
    expect(named.map(([name]) => name)).toEqual([
      'POST /v1/contacts/import',
      'GET /v1/contacts/import',
      'GET /v1/contacts/import/:job_id',
      'GET /v1/idempotency/:key',
      'GET /healthz',
      'GET /readyz',
    ])
    expect(Object.keys(contracts)).toEqual(contractList.map(({ operationId }) => operationId))
  })

  test.each(payloads)('every example of %s matches its schema', (_name, { schema, examples }) => {
    expect(Object.keys(examples)).not.toHaveLength(0)
    for (const [name, { value }] of Object.entries(examples)) expect(faultsOf(schema, value), name).toEqual([])
  })

  test('the example check reports a wrong or unknown member', () => {
    const [accepted] = Object.values(contracts.importContacts.responses[202].examples)
    const { schema } = contracts.importContacts.responses[202]
    expect(faultsOf(schema, { ...accepted?.value, job_id: 'not a UUID' })).not.toEqual([])
    expect(faultsOf(schema, { ...accepted?.value, surplus: true })).not.toEqual([])
  })

  test.each(named)('%s describes the path parameters of its URL', (_name, { url, params }) => {
    const inPath = [...url.matchAll(/:([a-z_]+)/g)].map(([, parameter]) => parameter)
    expect(Object.keys(params?.properties ?? {})).toEqual(inPath)
  })

  test.each(named)('header names of %s are lower case', (_name, { headers }) => {
    for (const header of Object.keys(headers?.properties ?? {})) expect(header).toBe(header.toLowerCase())
  })

  test.each(named)('%s lists each error once and no common error', (_name, { errors }) => {
    expect(new Set(errors).size).toBe(errors.length)
    expect(errors.filter((code) => commonErrors.some((one) => one === code))).toEqual([])
    expect(errors.filter((code) => !errorCodes.includes(code))).toEqual([])
  })

  test.each(named)(
    '%s lists the API key errors if and only if it requires a permission',
    (_name, { permission, errors, url }) => {
      expect(errors.includes('unauthorized')).toBe(permission !== null)
      expect(errors.includes('permission_denied')).toBe(permission !== null)
      expect(url.startsWith('/v1/')).toBe(permission !== null)
    },
  )

  test('every error code belongs to an endpoint, to all endpoints or to routing', () => {
    const routingErrors = ['route_not_found', 'method_not_allowed']
    const returned = new Set<string>([
      ...contractList.flatMap(({ errors }) => errors),
      ...commonErrors,
      ...routingErrors,
    ])
    expect(errorCodes.filter((code) => !returned.has(code))).toEqual([])
  })

  test('every permission is required by an endpoint', () => {
    const required = new Set(contractList.flatMap(({ permission }) => permission ?? []))
    expect([...required].toSorted()).toEqual(permissions.toSorted())
  })
})
