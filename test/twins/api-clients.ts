import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'

export type MemoryApiClients = ApiClients & {
  /** Registers a client under an API key. */
  put(apiKey: string, client: ApiClient): void
  /** Removes all keys of a client. */
  remove(clientId: string): void
}

/** API clients in memory. Fulfils the same contract as the registry in MongoDB. */
export function createMemoryApiClients(): MemoryApiClients {
  const clients = new Map<string, ApiClient>()
  return {
    put: (apiKey, client) => void clients.set(apiKey, client),
    remove(clientId) {
      for (const [apiKey, client] of clients) if (client.clientId === clientId) clients.delete(apiKey)
    },
    authenticate: async (apiKey) => clients.get(apiKey) ?? null,
  }
}
