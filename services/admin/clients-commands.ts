import { parseArgs } from 'node:util'
import { permissions } from '#schemas/http/contracts.ts'
import type { ApiClientSettings, RegisteredClient, RegistryOutcome } from '#shared/ports/api-client-registry.ts'
import { clientOptionsUsage, parseClientOptions, parsed, readWhole } from './client-options.ts'
import type { Command } from './tools.ts'
import { UsageFault } from './usage-fault.ts'

const defaults: Omit<ApiClientSettings, 'name'> = {
  permissions,
  ratePerSecond: null,
  allow: [],
  signing: false,
  region: null,
  locale: null,
  chunkSize: null,
}

const shownOnce = 'What was issued is shown only now: the service keeps no readable copy.'

export const clientsCommands: readonly Command[] = [
  {
    usage: `clients create --name N ${clientOptionsUsage}`,
    async run(args, tools) {
      const { settings, positionals } = parseClientOptions(args)
      const { name } = settings
      if (positionals.length > 0) throw new UsageFault('clients create takes options only.')
      if (name === undefined) throw new UsageFault('clients create needs --name.')
      const client = await tools.registry().create({ ...defaults, ...settings, name }, tools.clock.now())
      return {
        value: {
          client_id: client.clientId,
          api_key: client.apiKey,
          ...(client.signingSecret !== null && { signing_secret: client.signingSecret }),
        },
        message: `${client.name} can send requests. ${shownOnce}`,
      }
    },
  },
  {
    usage: 'clients list',
    async run(args, tools) {
      if (args.length > 0) throw new UsageFault('clients list takes no arguments.')
      const clients = await tools.registry().list(tools.clock.now())
      return { value: clients.map(shown) }
    },
  },
  {
    usage: `clients update CLIENT_ID [--name N] ${clientOptionsUsage}`,
    async run(args, tools) {
      const { settings, positionals } = parseClientOptions(args)
      const clientId = onlyClientId('clients update', positionals)
      if (Object.keys(settings).length === 0) {
        throw new UsageFault('clients update needs at least one option.')
      }
      const { client, issued } = done(clientId, await tools.registry().update(clientId, settings, tools.clock.now()))
      const { signingSecret } = issued
      return {
        value: { ...shown(client), ...(signingSecret !== null && { signing_secret: signingSecret }) },
        message: `In force within 5 s.${signingSecret === null ? '' : ` ${shownOnce}`}`,
      }
    },
  },
  {
    usage: 'clients revoke CLIENT_ID',
    async run(args, tools) {
      const { positionals } = parsed(() => parseArgs({ args: [...args], options: {}, allowPositionals: true }))
      const clientId = onlyClientId('clients revoke', positionals)
      const { client } = done(clientId, await tools.registry().revoke(clientId, tools.clock.now()))
      return { value: shown(client), message: 'Its requests are refused within 5 s, for good.' }
    },
  },
  {
    usage: 'clients rotate-key CLIENT_ID [--grace SECONDS]',
    async run(args, tools) {
      const { clientId, graceMs, now } = rotation('clients rotate-key', args, tools.clock.now())
      const { issued } = done(clientId, await tools.registry().rotateKey(clientId, graceMs, now))
      return {
        value: {
          client_id: clientId,
          api_key: issued.apiKey,
          former_key_ends_at: new Date(now + graceMs).toISOString(),
        },
        message: `${endsIn('key', graceMs)} ${shownOnce}`,
      }
    },
  },
  {
    usage: 'clients rotate-secret CLIENT_ID [--grace SECONDS]',
    async run(args, tools) {
      const { clientId, graceMs, now } = rotation('clients rotate-secret', args, tools.clock.now())
      const { issued } = done(clientId, await tools.registry().rotateSecret(clientId, graceMs, now))
      return {
        value: {
          client_id: clientId,
          signing_secret: issued.signingSecret,
          former_secret_ends_at: new Date(now + graceMs).toISOString(),
        },
        message: `${endsIn('secret', graceMs)} ${shownOnce}`,
      }
    },
  },
]

function onlyClientId(command: string, positionals: readonly string[]): string {
  const [clientId] = positionals
  if (clientId !== undefined && positionals.length === 1) return clientId
  throw new UsageFault(`${command} needs one CLIENT_ID; \`clients list\` shows them.`)
}

const mostGraceSeconds = 30 * 24 * 3_600

function rotation(command: string, args: readonly string[], now: number) {
  const options = { grace: { type: 'string', default: '0' } } as const
  const { values, positionals } = parsed(() => parseArgs({ args: [...args], options, allowPositionals: true }))
  const clientId = onlyClientId(command, positionals)
  const graceSeconds = parsed(() => readWhole('--grace', 0, mostGraceSeconds)(values.grace))
  return { clientId, graceMs: graceSeconds * 1_000, now }
}

const endsIn = (what: string, graceMs: number) =>
  graceMs === 0 ? `The former ${what} ends within 5 s.` : `The former ${what} works for ${graceMs / 1_000} s more.`

/** Throws a sentence for every outcome but `done`. */
function done(clientId: string, outcome: RegistryOutcome) {
  switch (outcome.is) {
    case 'done':
      return outcome
    case 'unknown':
      throw new Error(`There is no client ${clientId}; \`clients list\` shows all. Nothing was changed.`)
    case 'revoked':
      throw new Error(`The client ${clientId} is revoked, for good. Nothing was changed; create a new client instead.`)
    case 'not_signing':
      throw new Error(
        `The client ${clientId} does not sign its imports. Nothing was changed; \`clients update ${clientId} --signing\` turns it on.`,
      )
    default:
      return outcome satisfies never
  }
}

/** As a person or a program reads it; no key, no secret. */
const shown = (client: RegisteredClient) => ({
  client_id: client.clientId,
  name: client.name,
  permissions: client.permissions,
  rate: client.ratePerSecond,
  allow: client.allow,
  signing: client.signing,
  region: client.region,
  locale: client.locale,
  chunk_size: client.chunkSize,
  created_at: client.createdAt,
  updated_at: client.updatedAt,
  revoked_at: client.revokedAt,
  keys: client.keys.map(({ keyId, createdAt, notAfter }) => ({
    key_id: keyId,
    created_at: createdAt,
    not_after: notAfter,
  })),
})
