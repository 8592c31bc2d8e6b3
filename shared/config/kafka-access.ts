import { readFileSync } from 'node:fs'
import { type Static, Type } from '@sinclair/typebox'
import { parseBrokers } from './parse.ts'
import { kafkaAccessVariables, pick, variables } from './variables.ts'

const KafkaAccess = Type.Object(pick(variables, ...kafkaAccessVariables))
type KafkaAccess = Readonly<Static<typeof KafkaAccess>>

/** Returns the connection settings of the Kafka adapter. Reads the certificate and key files. */
export function kafkaAccess(config: KafkaAccess) {
  const { KAFKA_TLS_CA: ca, KAFKA_TLS_CERT: cert, KAFKA_TLS_KEY: key, KAFKA_SASL_MECHANISM: mechanism } = config
  const files = Object.entries({ ca, cert, key }).flatMap(([name, path]) =>
    path === undefined ? [] : [[name, readFileSync(path, 'utf8')]],
  )
  return {
    brokers: parseBrokers(config.KAFKA_BROKERS),
    security: {
      tls: config.KAFKA_TLS === 'true' ? Object.fromEntries(files) : null,
      sasl:
        mechanism === undefined
          ? null
          : { mechanism, username: config.KAFKA_SASL_USERNAME ?? '', password: config.KAFKA_SASL_PASSWORD ?? '' },
    },
  }
}
