import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'

export type MemoryApiClients = ApiClients & {
  /** Makes the key belong to the client. */
  put(apiKey: string, client: ApiClient): void
  /** Ends all keys of a client. */
  remove(clientId: string): void
}

/** API clients in this process alone, for tests. */
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
