import type { FastifyInstance } from 'fastify'

/**
 * Follows the routes registered from now on, in any plugin. The function it returns gives the methods that a URL
 * takes, sorted, and none for a path that nothing answers.
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

/** `/jobs/:id` and `/docs/*` as Fastify's router reads them; a parameter is one whole segment here. */
function patternOf(url: string): RegExp {
  const segments = url.split('/').map((segment) => {
    if (segment.startsWith(':')) return '[^/]+'
    return segment === '*' ? '.*' : segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${segments.join('/')}$`)
}
