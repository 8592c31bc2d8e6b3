import { Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs'
import { createLogFilter, type LogFilter } from './log-filter.ts'
import { registerCodecs } from './patches/codecs.ts'
import { patchConsumerGroup } from './patches/consumer-group.ts'
import { patchFetches } from './patches/fetch-guard.ts'
import { patchListOffsetsResponse } from './patches/list-offsets-response.ts'
import { patchOffsetOutOfRange } from './patches/offset-out-of-range.ts'
import { patchRequestQueueTimer } from './patches/request-queue-timer.ts'
import { patchRunner } from './patches/runner.ts'

export type KafkaLogLevel = 'warn' | 'info'
/** `details` never contains record keys, headers or values. */
export type KafkaLog = (level: KafkaLogLevel, message: string, details: Readonly<Record<string, unknown>>) => void

export type KafkaOptions = {
  /** Bootstrap brokers, each as `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly log?: KafkaLog
  /** Default: no TLS and no authentication. */
  readonly security?: KafkaSecurity
}

export type KafkaSecurity = {
  /** PEM texts. Without `ca`, Node's default CA list applies. `cert` and `key` are the client certificate. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null
  readonly sasl: {
    readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
    readonly username: string
    readonly password: string
  } | null
}

/** In milliseconds. Requests get more time than connections, because a broker may wait for its disk. */
const timeouts = { connectionTimeout: 3_000, authenticationTimeout: 3_000, requestTimeout: 10_000 }

/** kafkajs gives up after about 0.7 s, so that admin requests fail fast. Lane and membership then retry. */
const retry = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 3 }

/** Applies the patches and returns a kafkajs client, which has no connections yet. */
export function createKafka({ brokers, clientId, log = () => {}, security }: KafkaOptions): Kafka {
  const filter = createLogFilter(sameMessageEveryMs)
  patchConsumerGroup()
  patchFetches()
  patchListOffsetsResponse()
  patchRequestQueueTimer()
  patchRunner()
  patchOffsetOutOfRange()
  registerCodecs()
  return new Kafka({
    ...timeouts,
    ...toKafkaJs(security),
    brokers: [...brokers],
    clientId,
    retry,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => forward(entry, filter, log),
  })
}

function toKafkaJs({ tls, sasl }: KafkaSecurity = { tls: null, sasl: null }) {
  return { ...(tls !== null && { ssl: { ...tls } }), ...(sasl !== null && { sasl: toSasl(sasl) }) }
}

function toSasl({ mechanism, username, password }: NonNullable<KafkaSecurity['sasl']>): SASLOptions {
  switch (mechanism) {
    case 'PLAIN':
      return { mechanism: 'plain', username, password }
    case 'SCRAM-SHA-256':
      return { mechanism: 'scram-sha-256', username, password }
    case 'SCRAM-SHA-512':
      return { mechanism: 'scram-sha-512', username, password }
    default:
      return mechanism satisfies never
  }
}

/** A client whose broker is down repeats its requests several times per second. */
const sameMessageEveryMs = 60_000

/** Logs kafkajs errors as `warn`: kafkajs retries most of them, and its caller reports the rest. */
function forward(
  { level, log: { message, timestamp: _, logger: __, ...details }, namespace }: LogEntry,
  filter: LogFilter,
  log: KafkaLog,
) {
  const suppressed = filter.admit(`${namespace} ${message}`)
  if (suppressed === null) return
  const count = suppressed === 0 ? {} : { suppressed }
  log(level === logLevel.INFO ? 'info' : 'warn', message, { ...details, ...count, namespace })
}
