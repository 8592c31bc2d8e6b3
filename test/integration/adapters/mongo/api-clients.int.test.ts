import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongoApiClients } from '#shared/adapters/mongo/api-clients.ts'
import { applyIndexes } from '#shared/adapters/mongo/indexes.ts'
import { createSecretBox, noSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import type { ApiClientSettings, RegistryOutcome } from '#shared/ports/api-client-registry.ts'
import { apiClientsContract, clientSettings } from '#test/contract/api-clients.ts'
import { temporaryMongo } from '#test/support/backing/temporary-mongo.ts'

const { signingSecrets: _none, ...shared } = clientSettings
const settings: ApiClientSettings = { ...shared, signing: false }

function setUp() {
  const { db } = temporaryMongo()
  const secretBox = createSecretBox(randomBytes(32))
  const time = { now: Date.UTC(2026, 0, 31) }
  const clock = { now: () => time.now }
  return {
    db,
    time,
    clock,
    registry: createMongoApiClientRegistry({ db, secretBox }),
    clients: createMongoApiClients({ db, clock, secretBox }),
  }
}

function done(outcome: RegistryOutcome) {
  if (outcome.is !== 'done') throw new Error(`expected done, got ${outcome.is}`)
  return outcome
}

describe('API clients in MongoDB', () => {
  apiClientsContract(() => {
    const { registry, clients, time } = setUp()
    return {
      clients,
      register: async ({ signingSecrets: _secrets, ...client }) =>
        registry.create({ ...client, signing: false }, time.now).then(({ clientId, apiKey }) => ({
          clientId,
          apiKey: apiKey ?? '',
        })),
      revoke: async (clientId) => void done(await registry.revoke(clientId, time.now)),
      pass5Seconds: () => {
        time.now += 5_000
      },
    }
  })

  test('neither the key nor a signing secret is stored in plain text', async () => {
    const { db, registry, time } = setUp()
    const { apiKey, signingSecret } = await registry.create({ ...settings, signing: true }, time.now)
    expect(apiKey).toMatch(/^cik_[0-9a-f]{16}_[\w-]{43}$/)
    expect(signingSecret).toMatch(/^cis_[\w-]{43}$/)
    const stored = JSON.stringify(await db.collection('api_clients').find().toArray())
    for (const shown of [apiKey, apiKey?.slice(-43), signingSecret, signingSecret?.slice(4)]) {
      expect(stored).not.toContain(shown)
    }
    expect(JSON.stringify(await registry.list(time.now))).not.toMatch(/sealed|sha256|cis_|cik_/)
  })

  test('a rotated key works until the end of its grace period; the new key works at once', async () => {
    const { registry, clients, time } = setUp()
    const { clientId, apiKey: first } = await registry.create(settings, time.now)
    const { issued, client } = done(await registry.rotateKey(clientId, 60_000, time.now))
    expect(client.keys.map(({ notAfter }) => notAfter)).toEqual([null, new Date(time.now + 60_000).toISOString()])
    const known = async (apiKey: string | null) => (await clients.authenticate(apiKey ?? ''))?.clientId
    expect(await known(first)).toBe(clientId)
    time.now += 59_999
    expect(await known(first)).toBe(clientId)
    // The key is still cached, so its end must be checked for cached keys too.
    time.now += 1
    expect(await known(first)).toBeUndefined()
    expect(await known(issued.apiKey)).toBe(clientId)
  })

  test('without grace the former key ends at once; after a second rotation at most two keys are left', async () => {
    const { registry, clients, time } = setUp()
    const { clientId, apiKey: first } = await registry.create(settings, time.now)
    const second = done(await registry.rotateKey(clientId, 60_000, time.now))
    const third = done(await registry.rotateKey(clientId, 60_000, time.now))
    expect(third.client.keys).toHaveLength(2)
    const keys = [first, second.issued.apiKey, third.issued.apiKey]
    expect(await Promise.all(keys.map((key) => clients.authenticate(key ?? '')))).toEqual([
      null,
      expect.objectContaining({ clientId }),
      expect.objectContaining({ clientId }),
    ])
    expect(done(await registry.rotateKey(clientId, 0, time.now)).client.keys).toHaveLength(1)
  })

  test('signing secrets are listed newest first, the former one until its grace period ends', async () => {
    const { registry, clients, time } = setUp()
    const { clientId, apiKey, signingSecret: first } = await registry.create({ ...settings, signing: true }, time.now)
    const secrets = async () => (await clients.authenticate(apiKey ?? ''))?.signingSecrets
    expect(await secrets()).toEqual([first])
    const { issued } = done(await registry.rotateSecret(clientId, 60_000, time.now))
    time.now += 5_000
    expect(await secrets()).toEqual([issued.signingSecret, first])
    time.now += 55_000
    expect(await secrets()).toEqual([issued.signingSecret])
  })

  test('update changes only the given settings; turning signing on issues a secret, turning it off deletes it', async () => {
    const { registry, clients, time } = setUp()
    const { clientId, apiKey } = await registry.create(settings, time.now)
    const on = done(await registry.update(clientId, { signing: true, ratePerSecond: null }, time.now))
    expect(on.client).toMatchObject({ ...settings, signing: true, ratePerSecond: null })
    const again = done(await registry.update(clientId, { signing: true, allow: [] }, time.now))
    expect(again.issued.signingSecret).toBeNull()
    expect(await clients.authenticate(apiKey ?? '')).toMatchObject({
      signingSecrets: [on.issued.signingSecret],
      allow: [],
    })
    const off = done(await registry.update(clientId, { signing: false }, time.now))
    expect(off.client.signing).toBe(false)
    expect(await registry.rotateSecret(clientId, 0, time.now)).toEqual({ is: 'not_signing' })
  })

  test('concurrent changes are all kept', async () => {
    const { registry, time } = setUp()
    const { clientId } = await registry.create(settings, time.now)
    await Promise.all([
      registry.update(clientId, { name: 'Renamed' }, time.now),
      registry.update(clientId, { chunkSize: 20 }, time.now),
      registry.update(clientId, { region: null }, time.now),
      registry.rotateKey(clientId, 1_000, time.now),
    ])
    const [client] = await registry.list(time.now)
    expect(client).toMatchObject({ name: 'Renamed', chunkSize: 20, region: null })
    expect(client?.keys).toHaveLength(2)
  })

  test('a revoked client stays listed and cannot be changed; an unknown client gives unknown', async () => {
    const { db, registry, time } = setUp()
    await applyIndexes(db)
    for (const name of ['one', 'two']) {
      const { clientId } = await registry.create({ ...settings, name }, time.now)
      const first = done(await registry.revoke(clientId, time.now)).client.revokedAt
      expect(done(await registry.revoke(clientId, time.now + 1)).client.revokedAt).toBe(first)
      expect(await registry.update(clientId, { name: 'again' }, time.now)).toEqual({ is: 'revoked' })
      expect(await registry.rotateKey(clientId, 0, time.now)).toEqual({ is: 'revoked' })
      expect(await registry.rotateSecret(clientId, 0, time.now)).toEqual({ is: 'revoked' })
      time.now += 1
    }
    expect((await registry.list(time.now)).map(({ name, keys }) => [name, keys])).toEqual([
      ['one', []],
      ['two', []],
    ])
    expect(await registry.revoke('cl_unknown', time.now)).toEqual({ is: 'unknown' })
    expect(await registry.rotateKey('cl_unknown', 0, time.now)).toEqual({ is: 'unknown' })
  })

  test('without SECRETS_KEY only clients that sign cannot be authenticated', async () => {
    const { db, registry, clock, time } = setUp()
    const plain = await registry.create(settings, time.now)
    const signing = await registry.create({ ...settings, signing: true }, time.now)
    const clients = createMongoApiClients({ db, clock, secretBox: noSecretBox })
    expect(await clients.authenticate(plain.apiKey ?? '')).not.toBeNull()
    await expect(clients.authenticate(signing.apiKey ?? '')).rejects.toThrow(/SECRETS_KEY is not set/)
  })
})
