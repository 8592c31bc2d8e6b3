import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Type } from '@sinclair/typebox'
import { describe, expect, test } from 'vitest'
import { kafkaAccess } from '#shared/config/kafka-access.ts'
import { loadConfig } from '#shared/config/load-config.ts'
import { kafkaAccessVariables, pick, variables } from '#shared/config/variables.ts'

const KafkaConfig = Type.Object(pick(variables, ...kafkaAccessVariables))
const accessOf = (given: Readonly<Record<string, string>>) =>
  kafkaAccess(loadConfig(KafkaConfig, { KAFKA_BROKERS: 'a:9092,b:9092', ...given }))

const path = fileURLToPath(new URL('./certificate.pem', import.meta.url))
const pem = readFileSync(path, 'utf8')

describe('Kafka access', () => {
  test('uses neither TLS nor SASL by default', () => {
    expect(accessOf({})).toEqual({ brokers: ['a:9092', 'b:9092'], security: { tls: null, sasl: null } })
  })

  test('uses the CA certificates of Node.js or of a file', () => {
    expect(accessOf({ KAFKA_TLS: 'true' }).security).toEqual({ tls: {}, sasl: null })
    expect(accessOf({ KAFKA_TLS: 'true', KAFKA_TLS_CA: path }).security.tls).toEqual({ ca: pem })
  })

  test('uses a client certificate and SASL together', () => {
    const files = { KAFKA_TLS: 'true', KAFKA_TLS_CERT: path, KAFKA_TLS_KEY: path }
    const login = { KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'p' }
    expect(accessOf({ ...files, ...login }).security).toEqual({
      tls: { cert: pem, key: pem },
      sasl: { mechanism: 'SCRAM-SHA-512', username: 'u', password: 'p' },
    })
  })
})
