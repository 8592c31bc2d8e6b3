import net, { type Socket, type TcpNetConnectOpts } from 'node:net'

type Connect = (options: TcpNetConnectOpts, onConnect?: () => void) => Socket

/** Puts a function of the test's around kafkajs's way to connect in this process. Returns how to take it off again. */
export function wrapConnect(wrap: (connect: Connect) => Connect): () => void {
  const { connect } = net
  Reflect.set(net, 'connect', wrap(connect))
  return () => void Reflect.set(net, 'connect', connect)
}
