/**
 * Preloaded by `node --import` into a service. Redirects connections to the proxies of PROXY_PORTS, because Kafka and
 * MongoDB tell their clients the addresses of the servers, not those of the proxies.
 */
import { Socket } from 'node:net'

const proxyPorts: Readonly<Record<string, number>> = JSON.parse(process.env.PROXY_PORTS ?? '{}')

function redirected(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || !('port' in options)) return options
  const port = proxyPorts[String(options.port)]
  return port === undefined ? options : { ...options, port }
}

const connect: unknown = Reflect.get(Socket.prototype, 'connect')
Reflect.set(Socket.prototype, 'connect', function connectThroughProxy(this: Socket, ...given: unknown[]): unknown {
  const [first, ...others] = given
  // `net.connect` passes its normalized arguments as one marked array, which must stay the same object.
  if (Array.isArray(first)) first[0] = redirected(first[0])
  const args = Array.isArray(first) ? given : [redirected(first), ...others]
  return typeof connect === 'function' ? Reflect.apply(connect, this, args) : undefined
})
