import { fileURLToPath } from 'node:url'
import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { ConfigInvalid, type Environment, expectation, loadConfig } from '#shared/config/load-config.ts'
import { pick, variables } from '#shared/config/variables.ts'

const everything = Type.Object(variables)
const required = {
  KAFKA_BROKERS: '127.0.0.1:9092',
  MONGODB_URL: 'mongodb://user:hunter2@127.0.0.1:27017/?replicaSet=rs0',
  AI_SYSTEM_URL: 'http://127.0.0.1:9090/chunks?x=1',
}

function faultsOf(env: Environment): ConfigInvalid {
  try {
    loadConfig(everything, env)
  } catch (error) {
    if (error instanceof ConfigInvalid) return error
    throw error
  }
  throw new Error('No fault was found.')
}

describe('configuration', () => {
  test('the defaults match the interface document', () => {
    expect(loadConfig(everything, required)).toMatchObject({
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: 8080,
      CHUNK_SIZE: 100,
      MAX_CONTACTS: 10_000,
      MAX_BODY_BYTES: 8_388_608,
      DEFAULT_REGION: 'RU',
      IDEMPOTENCY_RETENTION_HOURS: 72,
      IDEMPOTENCY_LEASE_SECONDS: 30,
      IDEMPOTENCY_WAIT_SECONDS: 10,
      RATE_LIMIT_DEFAULT: 10,
      SIGNATURE_SKEW_SECONDS: 300,
      TRUSTED_PROXIES: '',
      RETRY_SCHEDULE: '500ms,2s,8s,30s,2m,10m,1h',
      DISPATCH_MAX_CONCURRENCY: 512,
      LOG_LEVEL: 'info',
    })
  })

  test('the result is frozen and has only the variables of the schema', () => {
    const config = loadConfig(Type.Object(pick(variables, 'HTTP_PORT', 'CHUNK_SIZE')), {
      ...required,
      HTTP_PORT: '0',
      PATH: '/bin',
    })
    expect(config).toEqual({ HTTP_PORT: 0, CHUNK_SIZE: 100 })
    expect(Object.isFrozen(config)).toBe(true)
  })

  test('an empty variable counts as not set', () => {
    expect(loadConfig(everything, { ...required, CHUNK_SIZE: '', AI_SYSTEM_TOKEN: '' })).toMatchObject({
      CHUNK_SIZE: 100,
    })
    expect(faultsOf({ ...required, KAFKA_BROKERS: '' }).message).toContain(
      'KAFKA_BROKERS must be one or more host:port',
    )
  })

  test('the error lists every invalid variable with the expected and the actual value', () => {
    const invalid = faultsOf({
      ...required,
      KAFKA_BROKERS: 'nowhere',
      CHUNK_SIZE: '9',
      HTTP_PORT: 'http',
      LOG_LEVEL: 'loud',
      RETRY_SCHEDULE: '2 parsecs',
    })
    expect(invalid.code).toBe('config_invalid')
    expect(invalid.faults.map(({ variable }) => variable).sort()).toEqual([
      'CHUNK_SIZE',
      'HTTP_PORT',
      'KAFKA_BROKERS',
      'LOG_LEVEL',
      'RETRY_SCHEDULE',
    ])
    expect(invalid.message).toContain('There are 5 faults')
    expect(invalid.message).toContain('CHUNK_SIZE must be a whole number from 10 to 10000 (contacts); it is "9".')
    expect(invalid.message).toContain(
      'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent; it is "loud".',
    )
  })

  test('the error shows no confidential value', () => {
    const confidential = {
      MONGODB_URL: 'postgres://user:hunter2@db',
      AI_SYSTEM_URL: 'http://user:hunter2@ai',
      AI_SYSTEM_TOKEN: 'hunter2 with spaces',
      AI_SYSTEM_SIGNING_SECRET: 'whsec_hunter2',
      SECRETS_KEY: 'hunter2',
      KAFKA_SASL_PASSWORD: 'hunter2',
    }
    const { message, faults } = faultsOf({ ...required, ...confidential })
    // The fault of a password without a mechanism is reported for KAFKA_SASL_MECHANISM.
    const faulty = Object.keys(confidential).map((name) => name.replace('KAFKA_SASL_PASSWORD', 'KAFKA_SASL_MECHANISM'))
    expect(faults.map(({ variable }) => variable).sort()).toEqual(faulty.sort())
    expect(message).not.toContain('hunter2')
  })

  test.each([
    ['KAFKA_BROKERS', 'a.example:9092, [::1]:9093', 'a.example:99999'],
    ['MONGODB_URL', 'mongodb+srv://cluster.example/db', 'http://cluster.example'],
    ['AI_SYSTEM_URL', 'https://ai.example:8443/v2/chunks', 'ftp://ai.example'],
    ['AI_SYSTEM_SIGNING_SECRET', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_!!!'],
    ['SECRETS_KEY', Buffer.alloc(32, 7).toString('base64'), Buffer.alloc(31, 7).toString('base64')],
    ['TRUSTED_PROXIES', '10.0.0.0/8, ::1,192.0.2.1', '10.0.0.0/33'],
    ['RETRY_SCHEDULE', 'none', '500'],
    ['DEFAULT_REGION', 'GB', 'UK'],
    ['KAFKA_TLS', 'true', 'yes'],
    ['OTEL_TRACES_SAMPLER_ARG', '0.25', '1.5'],
    ['IDEMPOTENCY_RETENTION_HOURS', '0.001', '0'],
  ])('%s: %j is valid, %j is invalid', (name, good, bad) => {
    expect(() => loadConfig(everything, { ...required, [name]: good })).not.toThrow()
    expect(faultsOf({ ...required, [name]: bad }).faults.map(({ variable }) => variable)).toEqual([name])
  })

  const pem = fileURLToPath(new URL('./certificate.pem', import.meta.url))

  test.each([
    [{ KAFKA_SASL_USERNAME: 'u' }, ['KAFKA_SASL_MECHANISM']],
    [{ KAFKA_SASL_MECHANISM: 'PLAIN' }, ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD']],
    [{ KAFKA_SASL_MECHANISM: 'PLAIN', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' }, []],
    [{ KAFKA_SASL_MECHANISM: 'GSSAPI', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' }, ['KAFKA_SASL_MECHANISM']],
    [{ KAFKA_TLS_CA: pem }, ['KAFKA_TLS']],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CA: pem }, []],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CERT: pem }, ['KAFKA_TLS_KEY']],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_KEY: pem }, ['KAFKA_TLS_KEY']],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CERT: pem, KAFKA_TLS_KEY: pem }, []],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CA: '/nowhere.pem' }, ['KAFKA_TLS_CA']],
    [{ KAFKA_TLS: 'true', KAFKA_TLS_CA: fileURLToPath(import.meta.url) }, ['KAFKA_TLS_CA']],
    [{ CHUNK_SIZE: '9', KAFKA_SASL_USERNAME: 'u' }, ['CHUNK_SIZE', 'KAFKA_SASL_MECHANISM']],
  ])('%j: the invalid variables are %j', (given, wrong) => {
    const faults = (): readonly string[] => faultsOf({ ...required, ...given }).faults.map(({ variable }) => variable)
    if (wrong.length > 0) expect(faults()).toEqual(wrong)
    else expect(() => loadConfig(everything, { ...required, ...given })).not.toThrow()
  })

  test('variables outside the schema are not checked', () => {
    const config = loadConfig(Type.Object(pick(variables, 'HTTP_PORT')), { KAFKA_SASL_USERNAME: 'u' })
    expect(config).toEqual({ HTTP_PORT: 8080 })
  })

  test('every variable has a description and an expectation', () => {
    for (const [name, schema] of Object.entries(variables)) {
      expect(schema.description, name).toMatch(/\.$/)
      expect(expectation(schema), name).not.toContain('undefined')
    }
  })
})
