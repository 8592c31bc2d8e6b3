/** Lower bound: Fastify reads the body and sends a 202 response of the same size as ingest. */
import fastify from 'fastify'

const answer = JSON.stringify({
  job_id: '00000000-0000-4000-8000-000000000000',
  correlation_id: '00000000-0000-4000-8000-000000000000',
  idempotency_status: 'created',
  status: 'pending',
  total_contacts: 100,
  valid_contacts: 95,
  invalid_contacts: 5,
  chunks_count: 1,
  created_at: '2026-01-01T00:00:00.000Z',
})

const app = fastify({ bodyLimit: 64 * 1024 * 1024 })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.get('/healthz', async () => ({ status: 'ok' }))
app.post('/v1/contacts/import', async (_request, reply) => {
  reply.code(202).type('application/json; charset=utf-8')
  return answer
})
process.once('SIGTERM', () => void app.close())
await app.listen({ host: '127.0.0.1', port: Number(process.env.HTTP_PORT) })
