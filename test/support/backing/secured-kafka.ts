import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import kafkajs, { type AclEntry } from 'kafkajs'
import { generate } from 'selfsigned'
import { installKafka } from '#infra/backing-services/kafka-install.ts'
import { freePort } from '#infra/backing-services/ports.ts'
import { runTool } from '#infra/backing-services/run-tool.ts'
import { type Right, roles } from '#infra/kafka-acls/roles.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { startOwnKafka } from './own-services.ts'

/** A broker that denies every operation without an ACL. It has one user per role. */
export type SecuredKafka = {
  /** A listener without authentication and with all rights, for the set-up and assertions of a test. */
  readonly brokers: readonly string[]
  loginOf(user: string): Readonly<Record<string, string>>
  tlsLoginOf(user: string): Promise<Readonly<Record<string, string>>>
  allow(prefix: string): Promise<void>
  stop(): Promise<void>
}

export async function startSecuredKafka(): Promise<SecuredKafka> {
  const folder = mkdtempSync(join(tmpdir(), 'contact-import-certificates-'))
  const plain = await freePort()
  const tls = await freePort([plain])
  const passwords = new Map(roles.map(({ user }) => [user, randomBytes(12).toString('hex')]))
  const certificates = await writeCertificates(folder)
  const kafka = await startOwnKafka({
    ...listeners({ plain, tls }),
    ...logins(passwords),
    ...tlsProperties(certificates),
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  })
  const login = (user: string, mechanism: string) => ({
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: user,
    KAFKA_SASL_PASSWORD: passwords.get(user) ?? '',
  })
  return {
    brokers: kafka.brokers,
    loginOf: (user) => ({ KAFKA_BROKERS: `127.0.0.1:${plain}`, ...login(user, 'PLAIN') }),
    async tlsLoginOf(user) {
      await createScramUser(kafka.brokers, user, passwords.get(user) ?? '')
      return {
        KAFKA_BROKERS: `127.0.0.1:${tls}`,
        KAFKA_TLS: 'true',
        KAFKA_TLS_CA: certificates.ca,
        KAFKA_TLS_CERT: certificates.clientCertificate,
        KAFKA_TLS_KEY: certificates.clientKey,
        ...login(user, 'SCRAM-SHA-512'),
      }
    },
    allow: (prefix) => allowRoles(kafka.brokers, prefix),
    async stop() {
      await kafka.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

const listeners = ({ plain, tls }: { plain: number; tls: number }) => {
  const both = `{ours},PLAIN://127.0.0.1:${plain},TLS://127.0.0.1:${tls}`
  return {
    listeners: both,
    'advertised.listeners': both,
    'listener.security.protocol.map': '{ours},PLAIN:SASL_PLAINTEXT,TLS:SASL_SSL',
  }
}

function logins(passwords: ReadonlyMap<string, string>): Record<string, string> {
  const users = [...passwords].map(([user, password]) => `user_${user}="${password}"`).join(' ')
  const modules = 'org.apache.kafka.common.security'
  return {
    'listener.name.plain.sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.plain.plain.sasl.jaas.config': `${modules}.plain.PlainLoginModule required ${users};`,
    'listener.name.tls.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.tls.scram-sha-512.sasl.jaas.config': `${modules}.scram.ScramLoginModule required;`,
  }
}

type Certificates = Readonly<Record<'ca' | 'server' | 'clientCertificate' | 'clientKey', string>>

const tlsProperties = ({ ca, server }: Certificates): Record<string, string> => ({
  'listener.name.tls.ssl.keystore.type': 'PEM',
  'listener.name.tls.ssl.keystore.location': server,
  'listener.name.tls.ssl.truststore.type': 'PEM',
  'listener.name.tls.ssl.truststore.location': ca,
  'listener.name.tls.ssl.client.auth': 'required',
})

async function writeCertificates(folder: string): Promise<Certificates> {
  const named = (value: string) => [{ name: 'commonName', value }]
  const size = { keySize: 2048, algorithm: 'sha256' } as const
  const authority = await generate(named('Authority of a test'), {
    ...size,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
    ],
  })
  const ca = { key: authority.private, cert: authority.cert }
  const altNames = [{ type: 7 as const, ip: '127.0.0.1' }]
  const server = await generate(named('Broker'), { ...size, ca, extensions: [{ name: 'subjectAltName', altNames }] })
  const client = await generate(named('Service'), { ...size, ca })
  const write = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }
  return {
    ca: write('ca.pem', authority.cert),
    server: write('server.pem', `${server.private}\n${server.cert}`),
    clientCertificate: write('client.pem', client.cert),
    clientKey: write('client.key', client.private),
  }
}

/** kafkajs cannot create SCRAM users, so this runs Kafka's own tool. */
async function createScramUser(brokers: readonly string[], user: string, password: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  const { java, classPath } = await installKafka({ environment: process.env, say: () => {}, signal })
  const { code, output } = await runTool({
    command: java,
    args: [
      ...['-cp', classPath, 'kafka.admin.ConfigCommand', '--bootstrap-server', brokers.join(',')],
      ...['--alter', '--entity-type', 'users', '--entity-name', user],
      ...['--add-config', `SCRAM-SHA-512=[password=${password}]`],
    ],
    signal,
  })
  if (code !== 0) throw new Error(`The user ${user} could not be created: ${output}`)
}

async function allowRoles(brokers: readonly string[], prefix: string): Promise<void> {
  const admin = createKafka({ brokers, clientId: 'test' }).admin()
  await admin.connect()
  await admin.createAcls({
    acl: roles.flatMap(({ user, rights }) => rights(prefix).flatMap((right) => toAcls(user, right))),
  })
  await admin.disconnect()
}

const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs
const resourceTypes = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  cluster: AclResourceTypes.CLUSTER,
} as const
const operationTypes = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Describe: AclOperationTypes.DESCRIBE,
  Create: AclOperationTypes.CREATE,
  Delete: AclOperationTypes.DELETE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
} as const

const toAcls = (user: string, { resource, name, pattern, operations }: Right): readonly AclEntry[] =>
  operations.map((operation) => ({
    principal: `User:${user}`,
    host: '*',
    operation: operationTypes[operation],
    permissionType: AclPermissionTypes.ALLOW,
    resourceType: resourceTypes[resource],
    resourceName: name,
    resourcePatternType: pattern === 'prefixed' ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
  }))
