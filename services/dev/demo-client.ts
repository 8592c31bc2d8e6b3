import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { permissions } from '#schemas/http/contracts.ts'
import type { ApiClientRegistry } from '#shared/ports/api-client-registry.ts'
import type { Instant } from '#shared/ports/clock.ts'

const fileName = 'demo-client.json'
const DemoClient = Type.Object({ client_id: Type.String(), api_key: Type.String() })
export type DemoClient = Static<typeof DemoClient>

const settings = {
  name: 'Demo',
  permissions,
  ratePerSecond: 0,
  allow: [],
  region: null,
  locale: null,
  chunkSize: null,
  signing: false,
}

type Deps = { readonly registry: ApiClientRegistry; readonly dataDir: string; readonly now: Instant }

/**
 * Creates the demo client if the database has no clients. Stores its key in the data directory, because the database
 * contains only a hash of the key. Returns null when the database has clients but not the stored demo client.
 */
export async function demoClient({ registry, dataDir, now }: Deps): Promise<DemoClient | null> {
  const file = join(dataDir, fileName)
  const clients = await registry.list(now)
  if (clients.length === 0) {
    const { clientId, apiKey } = await registry.create(settings, now)
    if (apiKey === null) throw new Error('The new demo client has no API key.')
    const made = { client_id: clientId, api_key: apiKey }
    await writeFile(file, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
    return made
  }
  const kept = await readKept(file)
  return clients.some(({ clientId }) => clientId === kept?.client_id) ? kept : null
}

async function readKept(file: string): Promise<DemoClient | null> {
  try {
    return Value.Parse(DemoClient, JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return null
  }
}
