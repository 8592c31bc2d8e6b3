import net, { type Socket, type TcpNetConnectOpts } from 'node:net'

type Connect = (options: TcpNetConnectOpts, onConnect?: () => void) => Socket

/** Wraps `net.connect`, which kafkajs uses. Returns the function that removes the wrapper. */
export function wrapConnect(wrap: (connect: Connect) => Connect): () => void {
  const { connect } = net
  Reflect.set(net, 'connect', wrap(connect))
  return () => void Reflect.set(net, 'connect', connect)
}
