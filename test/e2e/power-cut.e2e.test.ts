import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SimulatedAiSystem, startSimulatedAiSystem } from '#infra/ai-system/simulated-ai-system.ts'
import { sampleContacts } from '../support/builders/sample-contacts.ts'
import { createProducer } from '../support/http/producer.ts'
import { createNpmStart, type NpmStart } from '../support/system/npm-start.ts'

const imports = 50
const contactsPerImport = 500

let ai: SimulatedAiSystem
let system: NpmStart

beforeAll(async () => {
  ai = await startSimulatedAiSystem({ port: 0, latencyMs: 20 })
  system = await createNpmStart({ AI_SYSTEM_URL: ai.url })
  await system.start()
})
afterAll(async () => {
  await system?.remove()
  await ai?.stop()
})

describe('kill -9 of the process that runs all services', () => {
  it('loses no import that was answered 202, and sends every chunk with one idempotency key', async () => {
    const producer = createProducer(system.url, system.apiKey())
    const accepted: string[] = []
    let valid = 0
    let chunks = 0
    const half = Promise.withResolvers<void>()
    const posting = Array.from({ length: imports }, async (_, seed) => {
      const contacts = sampleContacts({ count: contactsPerImport, seed })
      const answer = await producer.importContacts(contacts, `power-cut-${seed}`)
      accepted.push(answer.job_id)
      valid += answer.valid_contacts
      chunks += answer.chunks_count
      if (accepted.length === imports / 2) half.resolve()
    })
    await half.promise
    await system.kill()
    const atKill = [...accepted]
    await system.start()
    await Promise.all(posting)

    expect(atKill.length).toBeGreaterThanOrEqual(imports / 2)
    expect(new Set(accepted).size).toBe(imports)
    let sent = 0
    for (const jobId of accepted) {
      const job = await producer.finishedJob(jobId, 120_000)
      expect(job.status).toBe('completed')
      expect(job.sent_contacts).toBe(job.valid_contacts)
      sent += job.sent_contacts
    }
    expect(sent).toBe(valid)
    const received = ai.received()
    expect(received.chunks).toBe(chunks)
    expect(received.malformed).toBe(0)
  })
})
