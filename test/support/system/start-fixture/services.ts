import { createServer } from 'node:http'

export async function startDev(environment: Readonly<Record<string, string | undefined>>) {
  if (environment.FIXTURE_FAULT !== undefined) {
    throw Object.assign(new Error(environment.FIXTURE_FAULT), { code: 'config_invalid' })
  }
  const { KAFKA_BROKERS, MONGODB_URL, AI_SYSTEM_URL, SECRETS_KEY } = environment
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ KAFKA_BROKERS, MONGODB_URL, AI_SYSTEM_URL, SECRETS_KEY }))
  })
  await new Promise<void>((listening) => server.listen(Number(environment.HTTP_PORT), '127.0.0.1', listening))
  console.log(`ready http://127.0.0.1:${environment.HTTP_PORT}`)
  return { stop: () => new Promise<void>((closed) => void server.close(() => closed())) }
}
