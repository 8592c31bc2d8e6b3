import type { Db } from 'mongodb'
import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'
import type { Clock, Instant } from '#shared/ports/clock.ts'
import { type ApiClientDocument, apiClientsCollection, isInForce, type StoredKey } from './api-client-document.ts'
import { isApiKey, keyIdOf } from './api-key.ts'
import { mapped } from './database-lost.ts'
import { createFreshCache } from './fresh-cache.ts'
import type { SecretBox } from './secret-box.ts'

type Options = {
  readonly db: Db
  readonly clock: Clock
  /** Opens the signing secrets; asked only for clients that sign. */
  readonly secretBox: SecretBox
}

type KnownClient = {
  readonly client: Omit<ApiClient, 'signingSecrets'>
  readonly keys: readonly StoredKey[]
  readonly secrets: readonly { readonly secret: string; readonly notAfter: Date | null }[]
}

/** API clients in MongoDB, remembered for at most 5 s in this process. */
export function createMongoApiClients({ db, clock, secretBox }: Options): ApiClients {
  const documents = db.collection<ApiClientDocument>(apiClientsCollection)
  const clientWith = createFreshCache({
    clock,
    load: async (keyId) => {
      const document = await mapped(() => documents.findOne({ 'keys.id': keyId, revoked_at: null }))
      return document && knownClient(document, secretBox)
    },
  })
  return {
    async authenticate(apiKey) {
      const keyId = keyIdOf(apiKey)
      const known = keyId === null ? null : await clientWith(keyId)
      const now = clock.now()
      const key = known?.keys.find(({ id }) => id === keyId)
      if (known === null || key === undefined || !isInForce(key, now) || !isApiKey(apiKey, key.sha256)) return null
      return { ...known.client, signingSecrets: secretsInForce(known, now) }
    },
  }
}

function knownClient(document: ApiClientDocument, secretBox: SecretBox): KnownClient {
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

const secretsInForce = ({ secrets }: KnownClient, now: Instant) =>
  secrets.filter(({ notAfter }) => notAfter === null || notAfter.getTime() > now).map(({ secret }) => secret)
