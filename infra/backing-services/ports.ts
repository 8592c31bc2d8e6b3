import { createServer } from 'node:net'

const first = 20_000
const count = 12_000

/** A free port of 127.0.0.1. The range is below the ephemeral ports, which outgoing connections use. */
export async function freePort(taken: readonly number[] = []): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = first + Math.floor(Math.random() * count)
    if (!taken.includes(port) && (await isPortFree(port))) return port
  }
  throw new Error(`No free port was found between ${first} and ${first + count - 1}.`)
}

export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
