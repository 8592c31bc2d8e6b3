import { randomBytes } from 'node:crypto'
import type { Collection, Db } from 'mongodb'
import type {
  ApiClientCredentials,
  ApiClientRegistry,
  IssuedSecrets,
  RegistryOutcome,
} from '#shared/ports/api-client-registry.ts'
import type { Instant } from '#shared/ports/clock.ts'
import {
  type ApiClientDocument,
  apiClientsCollection,
  registeredClient,
  rotated,
  type StoredKey,
  type StoredSecret,
  settingsMembers,
  settingsOf,
} from './api-client-document.ts'
import { generateApiKey } from './api-key.ts'
import { callDatabase } from './call-database.ts'
import type { SecretBox } from './secret-box.ts'

type Options = {
  readonly db: Db
  readonly secretBox: SecretBox
}

type Change = { readonly document: ApiClientDocument; readonly issued: IssuedSecrets }
type RejectedChange = { readonly is: 'revoked' | 'not_signing' }

export function createMongoApiClientRegistry({ db, secretBox }: Options): ApiClientRegistry & ApiClientCredentials {
  const documents = db.collection<ApiClientDocument>(apiClientsCollection)
  return { ...registry(documents, secretBox), ...credentials(documents, secretBox) }
}

const registry = (documents: Collection<ApiClientDocument>, secretBox: SecretBox): ApiClientRegistry => ({
  async create({ signing, ...settings }, now) {
    const clientId = `cl_${randomBytes(8).toString('hex')}`
    const { apiKey, stored } = issueKey(now)
    const secret = signing ? issueSecret(secretBox, clientId, now) : null
    const document: ApiClientDocument = {
      _id: clientId,
      version: 1,
      ...settingsMembers(settings),
      keys: [stored],
      signing_secrets: secret === null ? [] : [secret.stored],
      created_at: new Date(now),
      updated_at: new Date(now),
      revoked_at: null,
    }
    await callDatabase(() => documents.insertOne(document))
    return { ...registeredClient(document, now), apiKey, signingSecret: secret?.secret ?? null }
  },

  async list(now) {
    const all = await callDatabase(() => documents.find().sort({ created_at: 1, _id: 1 }).toArray())
    return all.map((document) => registeredClient(document, now))
  },

  update: (clientId, changes, now) =>
    change(documents, clientId, now, (document) => {
      if (document.revoked_at !== null) return { is: 'revoked' }
      const { signing, ...settings } = { ...settingsOf(document), ...changes }
      const isNew = signing && document.signing_secrets.length === 0
      const secret = isNew ? issueSecret(secretBox, clientId, now) : null
      const kept = signing ? document.signing_secrets : []
      const secrets = secret === null ? kept : [secret.stored]
      return {
        document: { ...document, ...settingsMembers(settings), signing_secrets: secrets },
        issued: { apiKey: null, signingSecret: secret?.secret ?? null },
      }
    }),
})

const credentials = (documents: Collection<ApiClientDocument>, secretBox: SecretBox): ApiClientCredentials => ({
  revoke: (clientId, now) =>
    change(documents, clientId, now, (document) => ({
      document: { ...document, revoked_at: document.revoked_at ?? new Date(now), signing_secrets: [] },
      issued: { apiKey: null, signingSecret: null },
    })),

  rotateKey: (clientId, graceMs, now) =>
    change(documents, clientId, now, (document) => {
      if (document.revoked_at !== null) return { is: 'revoked' }
      const { apiKey, stored } = issueKey(now)
      const keys = rotated(stored, document.keys, graceMs, now)
      return { document: { ...document, keys }, issued: { apiKey, signingSecret: null } }
    }),

  rotateSecret: (clientId, graceMs, now) =>
    change(documents, clientId, now, (document) => {
      if (document.revoked_at !== null) return { is: 'revoked' }
      if (document.signing_secrets.length === 0) return { is: 'not_signing' }
      const { secret, stored } = issueSecret(secretBox, clientId, now)
      const secrets = rotated(stored, document.signing_secrets, graceMs, now)
      return { document: { ...document, signing_secrets: secrets }, issued: { apiKey: null, signingSecret: secret } }
    }),
})

/** Optimistic locking: repeats when the document changed between the read and the replace. */
async function change(
  documents: Collection<ApiClientDocument>,
  clientId: string,
  now: Instant,
  decide: (document: ApiClientDocument) => Change | RejectedChange,
): Promise<RegistryOutcome> {
  for (;;) {
    const stored = await callDatabase(() => documents.findOne({ _id: clientId }))
    if (stored === null) return { is: 'unknown' }
    const decision = decide(stored)
    if ('is' in decision) return decision
    const { _id, ...members } = decision.document
    const next = { ...members, version: stored.version + 1, updated_at: new Date(now) }
    const { matchedCount } = await callDatabase(() => documents.replaceOne({ _id, version: stored.version }, next))
    if (matchedCount === 0) continue
    return { is: 'done', client: registeredClient({ _id, ...next }, now), issued: decision.issued }
  }
}

function issueSecret(secretBox: SecretBox, clientId: string, now: Instant) {
  const secret = `cis_${randomBytes(32).toString('base64url')}`
  const stored: StoredSecret = { sealed: secretBox.seal(secret, clientId), created_at: new Date(now), not_after: null }
  return { secret, stored }
}

function issueKey(now: Instant): { readonly apiKey: string; readonly stored: StoredKey } {
  const { apiKey, keyId, sha256 } = generateApiKey()
  return { apiKey, stored: { id: keyId, sha256, created_at: new Date(now), not_after: null } }
}
