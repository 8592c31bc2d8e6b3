import { connect, createServer } from 'node:net'

const first = 20_000
const count = 12_000

/** A free loopback port below the range the kernel gives to outgoing connections, so that it is still free after a restart. */
export async function freePort(taken: readonly number[] = []): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = first + Math.floor(Math.random() * count)
    if (!taken.includes(port) && (await isPortFree(port))) return port
  }
  throw new Error('no free port was found')
}

export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/** Resolves when something accepts connections on a loopback port, rejects otherwise. */
export async function connectTo(port: number, withinMs = 1_000): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(withinMs, () => reject(new Error(`port ${port} does not answer`)))
      socket.once('error', reject)
      socket.once('connect', () => resolve())
    })
  } finally {
    socket.destroy()
  }
}
