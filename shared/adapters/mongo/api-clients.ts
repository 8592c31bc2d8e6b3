import type { Db } from 'mongodb'
import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'
import { type ApiClientDocument, apiClientsCollection, isValidAt, type StoredKey } from './api-client-document.ts'
import { isApiKey, keyIdOf } from './api-key.ts'
import { callDatabase } from './call-database.ts'
import { createRefreshAheadCache } from './refresh-ahead-cache.ts'
import type { SecretBox } from './secret-box.ts'

type Options = {
  readonly db: Db
  readonly clock: Clock
  readonly secretBox: SecretBox
}

type CachedClient = {
  readonly client: Omit<ApiClient, 'signingSecrets'>
  readonly keys: readonly StoredKey[]
  readonly secrets: readonly { readonly secret: string; readonly notAfter: Date | null }[]
}

/** API clients in MongoDB, cached in this process for at most 5 s. */
export function createMongoApiClients({ db, clock, secretBox }: Options): ApiClients {
  const documents = db.collection<ApiClientDocument>(apiClientsCollection)
  const loadClient = createRefreshAheadCache({
    clock,
    load: async (keyId) => {
      const document = await callDatabase(() => documents.findOne({ 'keys.id': keyId, revoked_at: null }))
      return document && cachedClient(document, secretBox)
    },
  })
  return {
    async authenticate(apiKey) {
      const keyId = keyIdOf(apiKey)
      const cached = keyId === null ? null : await loadClient(keyId)
      const now = clock.now()
      const key = cached?.keys.find(({ id }) => id === keyId)
      if (cached === null || key === undefined || !isValidAt(key, now) || !isApiKey(apiKey, key.sha256)) return null
      return { ...cached.client, signingSecrets: validSecrets(cached, now) }
    },
  }
}

function cachedClient(document: ApiClientDocument, secretBox: SecretBox): CachedClient {
  return {
    client: {
      clientId: document._id,
      name: document.name,
      permissions: document.permissions,
      ratePerSecond: document.rate_per_second,
      allow: document.allow,
      region: document.region,
      locale: document.locale,
      chunkSize: document.chunk_size,
    },
    keys: document.keys,
    secrets: document.signing_secrets.map(({ sealed, not_after }) => ({
      secret: secretBox.open(sealed, document._id),
      notAfter: not_after,
    })),
  }
}

const validSecrets = ({ secrets }: CachedClient, now: Instant) =>
  secrets.filter(({ notAfter }) => notAfter === null || notAfter.getTime() > now).map(({ secret }) => secret)
