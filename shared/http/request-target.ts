import type { IncomingMessage } from 'node:http'

const absoluteForm = /^https?:\/\/[^/?#]*/i

/** What the router looks at: of the absolute form, which every server has to take (RFC 9112 §3.2.2), path and query. */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(absoluteForm, '')
  return rest === target || rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * What Node's parser lets pass and RFC 9112 does not: HTTP/0.9, and in HTTP/1.1 anything but one Host (§3.2): whoever
 * reads another one would serve another site.
 */
export function isWellFormed({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'host') hosts += 1
  }
  return httpVersion === '1.0' ? hosts <= 1 : httpVersion === '1.1' && hosts === 1
}
