import { randomBytes, randomUUID } from 'node:crypto'
import { describe } from 'vitest'
import { apiClientsContract } from '#test/contract/api-clients.ts'
import { createMemoryApiClients } from '#test/twins/api-clients.ts'

describe('API clients in memory', () => {
  apiClientsContract(() => {
    const clients = createMemoryApiClients()
    return {
      clients,
      async register(client) {
        const clientId = randomUUID()
        const apiKey = `cik_${randomBytes(8).toString('hex')}_${randomBytes(32).toString('base64url')}`
        clients.put(apiKey, { clientId, ...client })
        return { clientId, apiKey }
      },
      revoke: async (clientId) => clients.remove(clientId),
      pass5Seconds: () => undefined,
    }
  })
})
