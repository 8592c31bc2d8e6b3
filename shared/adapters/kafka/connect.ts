import { Kafka, type LogEntry, logLevel, type SASLOptions } from 'kafkajs'
import { registerCodecs } from './patches/codecs.ts'
import { patchRecordDecoder } from './patches/record-decoder.ts'
import { patchRecordEncoder } from './patches/record-encoder.ts'
import { patchRequestQueueTimer } from './patches/request-queue-timer.ts'

export type KafkaLogLevel = 'warn' | 'info'
/** What kafkajs has to say. Details hold addresses, group and member ids and stacks; never keys, headers or values. */
export type KafkaLog = (level: KafkaLogLevel, message: string, details: Readonly<Record<string, unknown>>) => void

export type KafkaOptions = {
  /** `host:port` of some brokers; the rest are learned from them. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly log?: KafkaLog
  /** Plain text without authentication when absent. */
  readonly security?: KafkaSecurity
}

export type KafkaSecurity = {
  /** Texts in PEM. Without `ca` Node's own list of authorities is asked; `cert` and `key` prove who this process is. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null
  readonly sasl: {
    readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512'
    readonly username: string
    readonly password: string
  } | null
}

/**
 * Silent connections are given up after 3 s: a broker in reach accepts in milliseconds, and a lost one must be noticed
 * before a client's patience ends. Requests get 10 s: a broker may stop that long for its disk or a garbage collection.
 */
const timeouts = { connectionTimeout: 3_000, authenticationTimeout: 3_000, requestTimeout: 10_000 }

/**
 * How often kafkajs itself tries to reach the cluster before it rejects: about 0.7 s. The lane, the membership and the
 * admin link each go on trying after that, so a longer wait here would only delay the answer to a caller.
 */
const retry = { initialRetryTime: 100, multiplier: 2, factor: 0.2, maxRetryTime: 1_000, retries: 3 }

/** A kafkajs client without connections yet, with the codecs and the patches in place. */
export function createKafka({ brokers, clientId, log = () => {}, security }: KafkaOptions): Kafka {
  patchRequestQueueTimer()
  patchRecordEncoder()
  patchRecordDecoder()
  registerCodecs()
  return new Kafka({
    ...timeouts,
    ...toKafkaJs(security),
    brokers: [...brokers],
    clientId,
    retry,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => forward(entry, log),
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

/** The lane limits retries on purpose: with one outstanding send and a replaced producer nothing can be lost. */
const knownWarning = 'Limiting retries for the idempotent producer may invalidate EoS guarantees'

/** At most `warn`: what kafkajs calls an error it mostly retries, and what remains its caller learns and reports. */
function forward(
  { level, log: { message, timestamp: _, logger: __, ...details }, namespace }: LogEntry,
  log: KafkaLog,
) {
  if (message === knownWarning) return
  log(level === logLevel.INFO ? 'info' : 'warn', message, { ...details, namespace })
}
