import { createHmac } from 'node:crypto'
import { permissions } from '#schemas/http/contracts.ts'
import { createMongoApiClientRegistry } from '#shared/adapters/mongo/api-client-registry.ts'
import { createMongo } from '#shared/adapters/mongo/connect.ts'
import { createSecretBox } from '#shared/adapters/mongo/secret-box.ts'
import type { ApiClientCredentials, ApiClientRegistry, ApiClientSettings } from '#shared/ports/api-client-registry.ts'

export type OwnClient = { readonly clientId: string; readonly apiKey: string; readonly signingSecret: string }

export type OwnClients = {
  readonly registry: ApiClientRegistry & ApiClientCredentials
  add(settings?: Partial<ApiClientSettings>): Promise<OwnClient>
  close(): Promise<void>
}

const defaultSettings: ApiClientSettings = {
  name: 'Test',
  permissions,
  ratePerSecond: 0,
  allow: [],
  region: null,
  locale: null,
  chunkSize: null,
  signing: false,
}

export function openOwnClients(environment: Readonly<Record<string, string>>): OwnClients {
  const { MONGODB_URL: url = '', MONGODB_DATABASE: database = '', SECRETS_KEY: key = '' } = environment
  const mongo = createMongo({ url, database })
  const secretBox = createSecretBox(Buffer.from(key, 'base64'))
  const registry = createMongoApiClientRegistry({ db: mongo.db, secretBox })
  return {
    registry,
    async add(settings = {}) {
      const { clientId, apiKey, signingSecret } = await registry.create({ ...defaultSettings, ...settings }, Date.now())
      return { clientId, apiKey: apiKey ?? '', signingSecret: signingSecret ?? '' }
    },
    close: () => mongo.close(),
  }
}

export function signed(secret: string, wire: string | Uint8Array, timestamp = new Date().toISOString()) {
  const signature = createHmac('sha256', secret).update(`${timestamp}\n`).update(wire).digest('hex')
  return { 'x-signature': signature, 'x-timestamp': timestamp }
}
