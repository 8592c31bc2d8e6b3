import type { Socket } from 'node:net'
import { wrapConnect } from './wrapped-connect.ts'

export type FollowedConnections = {
  /** Resolves when all connections that are open at the call are closed. */
  closed(): Promise<void>
  end(): void
}

export function followConnections(): FollowedConnections {
  const open = new Set<Socket>()
  const end = wrapConnect((connect) => (options, onConnect) => {
    const socket = connect(options, onConnect)
    open.add(socket)
    return socket.once('close', () => open.delete(socket))
  })
  return {
    async closed() {
      await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
    },
    end,
  }
}
