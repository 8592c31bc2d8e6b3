import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

const absoluteForm = /^https?:\/\/[^/?#]*/i

/** The path and query to route by. A server must also accept the absolute form (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(absoluteForm, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * False for requests that Node's parser accepts and RFC 9112 forbids: HTTP/0.9, and HTTP/1.1 without exactly one Host
 * (§3.2). With two Host headers, a proxy and this server could read different ones.
 */
export function isWellFormed({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  }
  return httpVersion === '1.0' ? hosts <= 1 : httpVersion === '1.1' && hosts === 1
}

/**
 * Records every route registered after this call, in any plugin. The returned function gives the sorted methods that a
 * URL supports, for the Allow header of a 405; none when no route has that path.
 */
export function allowedMethods(app: FastifyInstance): (url: string) => readonly string[] {
  const routes: { path: RegExp; methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ path: patternOf(url), methods: [method].flat() })
  })
  return (url) => {
    const path = url.split(/[?#]/, 1)[0] ?? ''
    const methods = routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods)
    return [...new Set(methods)].sort()
  }
}

/** Matches the paths of a Fastify route. A parameter (`:id`) is one whole segment; `*` is the rest of the path. */
function patternOf(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]+'
    return segment === '*' ? '.*' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
