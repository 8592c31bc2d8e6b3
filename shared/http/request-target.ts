import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

const absoluteForm = /^https?:\/\/[^/?#]*/i

/** The path and query of a request target. A server must accept the absolute form, too (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(absoluteForm, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * False for HTTP/0.9, and for HTTP/1.1 without exactly one Host header (RFC 9112 §3.2). Node's parser accepts them. If a
 * request has two Host headers, a proxy and this server could use different ones.
 */
export function isWellFormed({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  }
  return httpVersion === '1.0' ? hosts <= 1 : httpVersion === '1.1' && hosts === 1
}

/** Records all routes registered after this call. The returned function lists the methods of a URL for `Allow`. */
export function allowedMethods(app: FastifyInstance): (url: string) => readonly string[] {
  const routes: { path: RegExp; methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ path: patternOf(url), methods: [method].flat() })
  })
  return (url) => {
    const path = decodedPath(url)
    const methods = routes.filter((route) => route.path.test(path)).flatMap((route) => route.methods)
    return [...new Set(methods)].sort()
  }
}

/** The path as the router matches it: `/v1/contacts/%69mport` is `/v1/contacts/import`. */
export function decodedPath(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** Supports parameters that are a whole segment (`:id`), and `*` for the rest of the path. */
function patternOf(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]+'
    return segment === '*' ? '.*' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
