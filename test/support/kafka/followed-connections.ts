import type { Socket } from 'node:net'
import { wrapConnect } from './wrapped-connect.ts'

/** Tracks the connections that kafkajs opens in this process. */
export type FollowedConnections = {
  /** Resolves when the connections that are open now have emitted `close`. */
  closed(): Promise<void>
  /** Stops tracking new connections. */
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
