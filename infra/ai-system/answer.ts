import type { ServerResponse } from 'node:http'
import type { Behaviour } from './script.ts'

const accepted = Buffer.from('{"accepted":true}')
const piece = Buffer.alloc(64 * 1024, 0x20)

export type Answer = {
  readonly response: ServerResponse
  readonly behaviour: Behaviour
  /** Called once: with the status when it is sent, or with null when no status is sent. */
  readonly onStatus: (status: number | null) => void
}

export function answer({ response, behaviour, onStatus }: Answer): void {
  if (behaviour.delay_ms) setTimeout(respond, behaviour.delay_ms, { response, behaviour, onStatus })
  else respond({ response, behaviour, onStatus })
}

function respond({ response, behaviour, onStatus }: Answer): void {
  if (response.destroyed || behaviour.hang === 'before_headers' || behaviour.reset === 'before_headers') {
    onStatus(null)
    if (behaviour.reset) response.socket?.resetAndDestroy()
    return
  }
  const status = behaviour.status ?? (behaviour.redirect_to === undefined ? 200 : 307)
  const size = behaviour.body_bytes ?? accepted.length
  const cutShort = behaviour.hang === 'within_body' || behaviour.reset === 'within_body'
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': cutShort ? size + 1 : size,
    ...(behaviour.retry_after === undefined ? {} : { 'retry-after': String(behaviour.retry_after) }),
    ...(behaviour.redirect_to === undefined ? {} : { location: behaviour.redirect_to }),
    ...behaviour.headers,
  })
  onStatus(status)
  if (cutShort) {
    response.write(accepted.subarray(0, 1), () => {
      if (behaviour.reset) response.socket?.resetAndDestroy()
    })
  } else if (behaviour.drip_ms !== undefined) sendSlowly(response, behaviour.drip_ms)
  else if (behaviour.body_bytes !== undefined) sendBytes(response, behaviour.body_bytes)
  else response.end(accepted)
}

function sendSlowly(response: ServerResponse, everyMs: number): void {
  let sent = 0
  const timer = setInterval(() => {
    response.write(accepted.subarray(sent, ++sent))
    if (sent === accepted.length) response.end()
  }, everyMs)
  response.on('close', () => clearInterval(timer))
}

function sendBytes(response: ServerResponse, bytes: number): void {
  let left = bytes
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      const next = piece.subarray(0, Math.min(left, piece.length))
      left -= next.length
      if (!response.write(next)) {
        response.once('drain', more)
        return
      }
    }
    response.end()
  }
  more()
}
