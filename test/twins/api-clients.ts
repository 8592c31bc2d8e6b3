import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'

export type MemoryApiClients = ApiClients & {
  put(apiKey: string, client: ApiClient): void
  remove(clientId: string): void
}

/** Passes the same contract suite as the MongoDB adapter. */
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
