import type { DemoClient } from './demo-client.ts'

type Ready = {
  readonly host: string
  readonly port: number
  readonly demo: DemoClient | null
  readonly logFile: string
}

export function readyText({ host, port, demo, logFile }: Ready): string {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const baseUrl = `http://${address.includes(':') ? `[${address}]` : address}:${port}`
  return [
    `ready ${baseUrl}`,
    ...(demo === null ? noDemo : demoLines(baseUrl, demo)),
    '',
    `Log: ${logFile}`,
    'Stop with Ctrl-C.',
    '',
  ].join('\n')
}

const noDemo = [
  '',
  'There is no demo key, because the database already has API clients. Create a client: npm run --silent admin -- clients create --name NAME',
]

const demoLines = (baseUrl: string, { api_key }: DemoClient): string[] => [
  '',
  `Demo key: ${api_key}`,
  'Import the sample file:',
  '',
  `  curl -sS ${baseUrl}/v1/contacts/import \\`,
  `    -H 'Authorization: Bearer ${api_key}' \\`,
  `    -H "Idempotency-Key: $(node -p 'crypto.randomUUID()')" \\`,
  "    -H 'Content-Type: application/json' \\",
  '    --data-binary @infra/docs/sample-import.json',
]
