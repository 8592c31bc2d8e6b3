import { connect } from 'node:net'

export type RawAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>> // names in lower case
  readonly body: string
}

type Options = {
  /** Closes the sending side of the connection after the bytes. */
  readonly thenEnd?: boolean
  /** A text to send every 20 ms until the connection ends. */
  readonly trickle?: string
}

/** Sends the bytes and returns all responses after the server has closed the connection. */
export async function exchangeRaw(
  port: number,
  bytes: string | Uint8Array,
  options: Options = {},
): Promise<RawAnswer[]> {
  const { thenEnd = false, trickle } = options
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {}) // a reset after the response also ends the connection
  socket.write(bytes)
  if (thenEnd) socket.end()
  const timer = trickle === undefined ? undefined : setInterval(() => socket.write(trickle), 20)
  await new Promise((resolve) => socket.once('close', resolve))
  clearInterval(timer)
  return answersIn(Buffer.concat(chunks).toString('latin1'))
}

function answersIn(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, Math.max(0, end)).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1])
    if (end < 0 || Number.isNaN(status)) throw new Error(`Not an HTTP response: ${JSON.stringify(rest.slice(0, 200))}`)
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0)
    answers.push({ status, headers, body: Buffer.from(rest.slice(end + 4, bodyEnd), 'latin1').toString('utf8') })
    rest = rest.slice(bodyEnd)
  }
  return answers
}
