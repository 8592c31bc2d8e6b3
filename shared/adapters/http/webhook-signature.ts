import { createHmac } from 'node:crypto'

/**
 * Returns a function that makes the headers of Standard Webhooks ("Signature scheme", symmetric, v1): HMAC-SHA256 of
 * `id.timestamp.body`, one signature per secret, separated by spaces. Secrets are base64, with or without `whsec_`. `now`
 * is in milliseconds. Without secrets there are no headers.
 */
export function createWebhookSigner(secrets: readonly string[]) {
  const keys = secrets.map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
  return (id: string, now: number, body: Uint8Array): Record<string, string> => {
    if (keys.length === 0) return {}
    const timestamp = String(Math.floor(now / 1000))
    const signatures = keys.map(
      (key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
    )
    return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
  }
}
