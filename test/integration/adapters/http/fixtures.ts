import { type AiSystemOptions, createAiSystem } from '#shared/adapters/http/ai-system.ts'
import { systemClock } from '#shared/adapters/system-clock.ts'
import { afterThisTest } from '#test/support/http/servers.ts'

export const chunk = {
  body: Buffer.from('{"job_id":"j","contacts":[{"phone":"+79991234567"}]}'),
  idempotencyKey: '0b9f7c1e-5d34-4a53-9f0e-6f3a1c2d4e5b',
  correlationId: '7c1f4e2a-93b8-4d06-8a57-2b9d0e6f1c34',
}

export function client(target: number | URL, options: Partial<AiSystemOptions> = {}) {
  const url = target instanceof URL ? target : new URL(`http://127.0.0.1:${target}/v2/chunks?tenant=7`)
  const aiSystem = createAiSystem({ url, clock: systemClock, totalTimeoutMs: 400, connectTimeoutMs: 200, ...options })
  afterThisTest(() => aiSystem.close())
  return aiSystem
}
