import { expect, test } from 'vitest'
import type { ApiClient, ApiClients } from '#shared/ports/api-clients.ts'

export type ClientsUnderTest = {
  readonly clients: ApiClients
  readonly register: (
    client: Omit<ApiClient, 'clientId'>,
  ) => Promise<{ readonly clientId: string; readonly apiKey: string }>
  readonly revoke: (clientId: string) => Promise<void>
  /** Adapters may return a cached client for 5 s. */
  readonly pass5Seconds: () => void
}

export const clientSettings: Omit<ApiClient, 'clientId'> = {
  name: 'Shop',
  permissions: ['contacts:import', 'jobs:read'],
  ratePerSecond: 0,
  allow: ['10.0.0.0/8', '2001:db8::/32'],
  signingSecrets: [],
  region: 'DE',
  locale: 'ru',
  chunkSize: 250,
}

export function apiClientsContract(open: () => ClientsUnderTest): void {
  test('authenticate returns the client of a key with all settings', async () => {
    const { clients, register } = open()
    await register({ ...clientSettings, name: 'Other' })
    const { clientId, apiKey } = await register(clientSettings)
    expect(await clients.authenticate(apiKey)).toEqual({ clientId, ...clientSettings })
  })

  test('authenticate returns null for a key that is malformed, unknown, or has a wrong secret', async () => {
    const { clients, register } = open()
    const { apiKey } = await register(clientSettings)
    const last = apiKey.endsWith('A') ? 'B' : 'A'
    const wrongSecret = `${apiKey.slice(0, -1)}${last}`
    const unknown = `cik_${'0'.repeat(16)}_${'A'.repeat(43)}`
    for (const key of ['', 'cik_', apiKey.slice(0, -1), `${apiKey}A`, ` ${apiKey}`, wrongSecret, unknown, '\u0000']) {
      expect(await clients.authenticate(key)).toBeNull()
    }
    expect(await clients.authenticate(apiKey)).not.toBeNull()
  })

  test('authenticate returns null for the key of a client that was revoked 5 s ago', async () => {
    const { clients, register, revoke, pass5Seconds } = open()
    const kept = await register(clientSettings)
    const revoked = await register(clientSettings)
    await clients.authenticate(revoked.apiKey)
    await revoke(revoked.clientId)
    pass5Seconds()
    expect(await clients.authenticate(revoked.apiKey)).toBeNull()
    expect(await clients.authenticate(kept.apiKey)).not.toBeNull()
  })
}
