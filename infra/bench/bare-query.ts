/** The baseline for the query service: a Fastify server with one findOne. */
import fastify from 'fastify'
import { createMongo } from '#shared/adapters/mongo/connect.ts'

const { MONGODB_URL = '', MONGODB_DATABASE = '', HTTP_PORT } = process.env
const mongo = createMongo({ url: MONGODB_URL, database: MONGODB_DATABASE })
const jobs = mongo.db.collection<{ _id: string }>('import_jobs')
const app = fastify()
app.get('/readyz', async () => ({ status: 'ok' }))
app.get<{ Params: { job_id: string } }>('/v1/contacts/import/:job_id', async ({ params }) =>
  jobs.findOne({ _id: params.job_id }),
)
process.once('SIGTERM', () => void app.close().then(() => mongo.close()))
await app.listen({ host: '127.0.0.1', port: Number(HTTP_PORT) })
