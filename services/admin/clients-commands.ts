import { parseArgs } from 'node:util'
import { permissions } from '#schemas/http/contracts.ts'
import type { ApiClientSettings, RegisteredClient, RegistryOutcome } from '#shared/ports/api-client-registry.ts'
import { asUsageErrors, clientOptionsUsage, parseClientOptions, parseWholeNumber } from './client-options.ts'
import { type Command, UsageError } from './command.ts'

const defaults: Omit<ApiClientSettings, 'name'> = {
  permissions,
  ratePerSecond: null,
  allow: [],
  signing: false,
  region: null,
  locale: null,
  chunkSize: null,
}

const shownOnce = 'Store the printed credentials now. No command can show them again.'

export const clientsCommands: readonly Command[] = [
  {
    usage: `clients create --name N ${clientOptionsUsage}`,
    async run(args, context) {
      const { settings, positionals } = parseClientOptions(args)
      const { name } = settings
      if (positionals.length > 0) throw new UsageError('clients create takes options only.')
      if (name === undefined) throw new UsageError('clients create needs --name.')
      const client = await context.registry().create({ ...defaults, ...settings, name }, context.clock.now())
      return {
        value: {
          client_id: client.clientId,
          api_key: client.apiKey,
          ...(client.signingSecret !== null && { signing_secret: client.signingSecret }),
        },
        message: `Created the client "${client.name}". ${shownOnce}`,
      }
    },
  },
  {
    usage: 'clients list',
    async run(args, context) {
      if (args.length > 0) throw new UsageError('clients list takes no arguments.')
      const clients = await context.registry().list(context.clock.now())
      return { value: clients.map(clientJson) }
    },
  },
  {
    usage: `clients update CLIENT_ID [--name N] ${clientOptionsUsage}`,
    async run(args, context) {
      const { settings, positionals } = parseClientOptions(args)
      const clientId = onlyClientId('clients update', positionals)
      if (Object.keys(settings).length === 0) {
        throw new UsageError('clients update needs at least one option.')
      }
      const { client, issued } = expectDone(
        clientId,
        await context.registry().update(clientId, settings, context.clock.now()),
      )
      const { signingSecret } = issued
      return {
        value: { ...clientJson(client), ...(signingSecret !== null && { signing_secret: signingSecret }) },
        message: `The change takes effect within 5 s.${signingSecret === null ? '' : ` ${shownOnce}`}`,
      }
    },
  },
  {
    usage: 'clients revoke CLIENT_ID',
    async run(args, context) {
      const { positionals } = asUsageErrors(() => parseArgs({ args: [...args], options: {}, allowPositionals: true }))
      const clientId = onlyClientId('clients revoke', positionals)
      const { client } = expectDone(clientId, await context.registry().revoke(clientId, context.clock.now()))
      return {
        value: clientJson(client),
        message: 'The service rejects all requests of this client within 5 s. A revocation cannot be undone.',
      }
    },
  },
  {
    usage: 'clients rotate-key CLIENT_ID [--grace SECONDS]',
    async run(args, context) {
      const { clientId, graceMs, now } = parseRotation('clients rotate-key', args, context.clock.now())
      const { issued } = expectDone(clientId, await context.registry().rotateKey(clientId, graceMs, now))
      return {
        value: {
          client_id: clientId,
          api_key: issued.apiKey,
          former_key_ends_at: new Date(now + graceMs).toISOString(),
        },
        message: `${validityOf('key', graceMs)} ${shownOnce}`,
      }
    },
  },
  {
    usage: 'clients rotate-secret CLIENT_ID [--grace SECONDS]',
    async run(args, context) {
      const { clientId, graceMs, now } = parseRotation('clients rotate-secret', args, context.clock.now())
      const { issued } = expectDone(clientId, await context.registry().rotateSecret(clientId, graceMs, now))
      return {
        value: {
          client_id: clientId,
          signing_secret: issued.signingSecret,
          former_secret_ends_at: new Date(now + graceMs).toISOString(),
        },
        message: `${validityOf('secret', graceMs)} ${shownOnce}`,
      }
    },
  },
]

function onlyClientId(command: string, positionals: readonly string[]): string {
  const [clientId] = positionals
  if (clientId !== undefined && positionals.length === 1) return clientId
  throw new UsageError(`${command} needs one CLIENT_ID. \`clients list\` shows the ids.`)
}

const maxGraceSeconds = 30 * 24 * 3_600

function parseRotation(command: string, args: readonly string[], now: number) {
  const options = { grace: { type: 'string', default: '0' } } as const
  const { values, positionals } = asUsageErrors(() => parseArgs({ args: [...args], options, allowPositionals: true }))
  const clientId = onlyClientId(command, positionals)
  const graceSeconds = asUsageErrors(() => parseWholeNumber('--grace', 0, maxGraceSeconds)(values.grace))
  return { clientId, graceMs: graceSeconds * 1_000, now }
}

const validityOf = (what: string, graceMs: number) =>
  graceMs === 0
    ? `The former ${what} becomes invalid within 5 s.`
    : `The former ${what} stays valid for ${graceMs / 1_000} s.`

function expectDone(clientId: string, outcome: RegistryOutcome) {
  switch (outcome.is) {
    case 'done':
      return outcome
    case 'unknown':
      throw new Error(`There is no client ${clientId}. \`clients list\` shows all clients. Nothing was changed.`)
    case 'revoked':
      throw new Error(
        `The client ${clientId} is revoked. A revocation cannot be undone. Nothing was changed. Create a new client instead.`,
      )
    case 'not_signing':
      throw new Error(
        `The client ${clientId} does not sign its imports. Nothing was changed. \`clients update ${clientId} --signing\` enables signing.`,
      )
    default:
      return outcome satisfies never
  }
}

const clientJson = (client: RegisteredClient) => ({
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
