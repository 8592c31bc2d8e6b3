import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { runAdmin } from '#services/admin/admin.ts'
import { composeAdmin } from '#services/admin/compose.ts'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { createMongoApiClients } from '#shared/adapters/mongo/api-clients.ts'
import { indexes } from '#shared/adapters/mongo/indexes.ts'
import { createSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'

const key = randomBytes(32)

function setUp() {
  const { db } = temporaryMongo()
  const environment = {
    MONGODB_URL: inject('mongodbUrl'),
    MONGODB_DATABASE: db.databaseName,
    SECRETS_KEY: key.toString('base64'),
  }
  const admin = (...args: string[]) => runAdmin(args, composeAdmin(environment))
  return {
    admin,
    async value(...args: string[]) {
      const result = await admin(...args)
      expect(result).toMatchObject({ exitCode: 0 })
      return JSON.parse(result.json ?? '')
    },
    clients: () => createMongoApiClients({ db, clock: Date, secretBox: createSecretBox(key) }),
    db,
  }
}

describe('clients', () => {
  test('create prints the id and a working key with the default settings', async () => {
    const { value, clients } = setUp()
    const created = await value('clients', 'create', '--name', 'Shop')
    expect(Object.keys(created)).toEqual(['client_id', 'api_key'])
    expect(await clients().authenticate(created.api_key)).toEqual({
      clientId: created.client_id,
      name: 'Shop',
      permissions: ['contacts:import', 'jobs:read', 'idempotency:read'],
      ratePerSecond: null,
      allow: [],
      signingSecrets: [],
      region: null,
      locale: null,
      chunkSize: null,
    })
  })

  test('create accepts every option, and prints the secret of a signing client', async () => {
    const { value, clients } = setUp()
    const created = await value(
      ...['clients', 'create', '--name', 'Shop', '--permissions', 'jobs:read,contacts:import', '--rate', '0'],
      ...['--allow', '10.0.0.0/8', '--allow', '2001:db8::/32', '--signing', '--region', 'de', '--locale', 'ru'],
      ...['--chunk-size', '10'],
    )
    expect(Object.keys(created)).toEqual(['client_id', 'api_key', 'signing_secret'])
    expect(await clients().authenticate(created.api_key)).toMatchObject({
      permissions: ['jobs:read', 'contacts:import'],
      ratePerSecond: 0,
      allow: ['10.0.0.0/8', '2001:db8::/32'],
      signingSecrets: [created.signing_secret],
      region: 'DE',
      locale: 'ru',
      chunkSize: 10,
    })
  })

  test('update changes only the given settings; `default`, `any` and --no-signing reset a setting', async () => {
    const { value } = setUp()
    const { client_id: id } = await value(
      ...['clients', 'create', '--name', 'Shop', '--rate', '5', '--allow', '::1', '--signing', '--region', 'RU'],
    )
    const first = await value('clients', 'update', id, '--rate', '7', '--name', 'Store')
    expect(first).toMatchObject({ client_id: id, name: 'Store', rate: 7, allow: ['::1'], signing: true, region: 'RU' })
    const second = await value(
      ...['clients', 'update', id, '--rate', 'default', '--allow', 'any', '--no-signing', '--region', 'default'],
    )
    expect(second).toMatchObject({ name: 'Store', rate: null, allow: [], signing: false, region: null })
    expect(await value('clients', 'update', id, '--signing')).toMatchObject({
      signing: true,
      signing_secret: expect.stringMatching(/^cis_/),
    })
  })

  test('list shows all clients, also revoked ones, without keys and secrets', async () => {
    const { value, clients } = setUp()
    const kept = await value('clients', 'create', '--name', 'Kept', '--signing')
    const gone = await value('clients', 'create', '--name', 'Gone')
    expect(await value('clients', 'revoke', gone.client_id)).toMatchObject({ revoked_at: expect.any(String), keys: [] })
    const listed = await value('clients', 'list')
    expect(listed).toMatchObject([
      { client_id: kept.client_id, signing: true, revoked_at: null, keys: [{ not_after: null }] },
      { client_id: gone.client_id, signing: false, keys: [] },
    ])
    for (const shown of [kept.api_key, kept.signing_secret, gone.api_key]) {
      expect(JSON.stringify(listed)).not.toContain(shown.slice(-43))
    }
    expect(await clients().authenticate(gone.api_key)).toBeNull()
    expect(await clients().authenticate(kept.api_key)).not.toBeNull()
  })

  test('a rotated key or secret replaces the former one, which stays valid for --grace seconds', async () => {
    const { value, clients } = setUp()
    const created = await value('clients', 'create', '--name', 'Shop', '--signing')
    const id = created.client_id
    const second = await value('clients', 'rotate-key', id, '--grace', '3600')
    expect(Date.parse(second.former_key_ends_at)).toBeGreaterThan(Date.now() + 3_500_000)
    const secret = await value('clients', 'rotate-secret', id, '--grace', '60')
    for (const apiKey of [created.api_key, second.api_key]) {
      const client = await clients().authenticate(apiKey)
      expect(client?.signingSecrets).toEqual([secret.signing_secret, created.signing_secret])
    }
    const third = await value('clients', 'rotate-key', id)
    expect(await clients().authenticate(second.api_key)).toBeNull()
    expect(await clients().authenticate(third.api_key)).not.toBeNull()
  })

  test('a rejected change prints a message and no JSON, with exit code 1', async () => {
    const { admin, value } = setUp()
    const { client_id: id } = await value('clients', 'create', '--name', 'Shop')
    const failing = [
      [['clients', 'revoke', 'cl_none'], /no client cl_none.*Nothing was changed/],
      [['clients', 'rotate-secret', id], /does not sign.*--signing/],
    ] as const
    for (const [args, message] of failing) {
      expect(await admin(...args)).toEqual({ exitCode: 1, json: null, message: expect.stringMatching(message) })
    }
    await value('clients', 'revoke', id)
    expect((await admin('clients', 'rotate-key', id)).message).toMatch(/is revoked\. A revocation cannot be undone/)
  })
})

test('indexes apply creates the indexes once', async () => {
  const { value, db } = setUp()
  const wanted = Object.values(indexes).flat().length
  const first = await value('indexes', 'apply')
  expect(first.indexes.map(({ is }: { is: string }) => is)).toEqual(Array(wanted).fill('created'))
  expect(await value('indexes', 'apply')).toMatchObject({ indexes: Array(wanted).fill({ is: 'present' }) })
  expect(await db.collection('idempotency_keys').indexes()).toHaveLength(3)
})

test('topics check fails until topics apply has created the topics', async () => {
  const KAFKA_PREFIX = `test-${randomUUID()}.`
  const brokers = inject('kafkaBrokers')
  const names = Object.values(topics).map(({ name }) => `${KAFKA_PREFIX}${name}`)
  onTestFinished(async () => {
    const kafka = createKafka({ brokers, clientId: 'test' }).admin()
    await kafka.connect()
    await kafka.deleteTopics({ topics: names })
    await kafka.disconnect()
  })
  const environment = { KAFKA_BROKERS: brokers.join(','), KAFKA_PREFIX }
  const admin = (...args: string[]) => runAdmin(args, composeAdmin(environment))
  expect(await admin('topics', 'check')).toMatchObject({ exitCode: 1, message: expect.stringContaining(KAFKA_PREFIX) })
  expect(await admin('topics', 'apply')).toMatchObject({ exitCode: 0, json: JSON.stringify({ topics: names }) })
  const checked = await admin('topics', 'check')
  expect(checked).toMatchObject({ exitCode: 0, message: expect.stringMatching(/\nWarning: .* replication factor 1: /) })
  expect(JSON.parse(checked.json ?? '')).toEqual({
    drift: [],
    warnings: [expect.stringContaining(`These topics have replication factor 1: ${names.join(', ')}.`)],
  })
})

describe('without addresses in the environment', () => {
  function dataDir(): string {
    const folder = mkdtempSync(join(tmpdir(), 'contact-import-admin-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    return folder
  }

  test('the addresses and the secrets key are read from DATA_DIR', async () => {
    const { db, clients } = setUp()
    const DATA_DIR = dataDir()
    writeFileSync(join(DATA_DIR, 'services.json'), JSON.stringify({ mongodbUrl: inject('mongodbUrl'), processes: {} }))
    writeFileSync(join(DATA_DIR, 'secrets.key'), `${key.toString('base64')}\n`)
    const tools = composeAdmin({ DATA_DIR, MONGODB_DATABASE: db.databaseName })
    const result = await runAdmin(['clients', 'create', '--name', 'Shop', '--signing'], tools)
    const created = JSON.parse(result.json ?? '')
    expect((await clients().authenticate(created.api_key))?.signingSecrets).toEqual([created.signing_secret])
  })

  test('the secrets key in DATA_DIR is not used for another database', async () => {
    const { db } = setUp()
    const DATA_DIR = dataDir()
    mkdirSync(DATA_DIR, { recursive: true })
    writeFileSync(join(DATA_DIR, 'services.json'), JSON.stringify({ mongodbUrl: 'mongodb://127.0.0.1:1' }))
    writeFileSync(join(DATA_DIR, 'secrets.key'), key.toString('base64'))
    const environment = { DATA_DIR, MONGODB_URL: inject('mongodbUrl'), MONGODB_DATABASE: db.databaseName }
    const result = await runAdmin(['clients', 'create', '--name', 'Shop', '--signing'], composeAdmin(environment))
    expect(result).toEqual({ exitCode: 1, json: null, message: expect.stringMatching(/SECRETS_KEY is not set/) })
    expect(await db.collection('api_clients').countDocuments()).toBe(0)
  })

  test.each([
    ['clients list', 'MONGODB_URL'],
    ['topics check', 'KAFKA_BROKERS'],
  ])('the error of %s names the variable to set', async (command, variable) => {
    const result = await runAdmin(command.split(' '), composeAdmin({ DATA_DIR: dataDir() }))
    expect(result).toMatchObject({ exitCode: 1, json: null })
    expect(result.message).toMatch(new RegExp(`^${variable} is not set.*npm start`))
  })
})

test('clients list reports an unreachable database', async () => {
  const result = await runAdmin(['clients', 'list'], composeAdmin({ MONGODB_URL: 'mongodb://127.0.0.1:1' }))
  expect(result).toEqual({
    exitCode: 1,
    json: null,
    message: expect.stringMatching(/database cannot be reached.*repeat/),
  })
})
