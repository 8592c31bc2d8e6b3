import { connect } from 'node:net'

const withinMs = 2_000
const metadata = { apiKey: 3, version: 5 }
const correlationId = 1

/**
 * Rejects unless the broker at a loopback port names at least one live broker, itself.
 * Spoken by hand (Kafka protocol guide, Metadata v5): the client library is only used behind the log's adapter.
 */
export async function probeKafka(port: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    const answer = await new Promise<Buffer>((resolve, reject) => {
      let received = Buffer.alloc(0)
      socket.setTimeout(withinMs, () => reject(new Error(`port ${port} does not answer`)))
      socket.once('error', reject)
      socket.once('close', () => reject(new Error(`port ${port} has closed the connection`)))
      socket.once('connect', () => socket.write(metadataRequest()))
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk])
        if (received.length >= 16) resolve(received)
      })
    })
    // size, correlation id, throttle time, number of brokers
    if (answer.readInt32BE(4) !== correlationId) throw new Error(`port ${port} does not speak Kafka's protocol`)
    if (answer.readInt32BE(12) < 1) throw new Error('the broker is not registered yet')
  } finally {
    socket.destroy()
  }
}

/** Size, then the header (api, version, correlation id, no client id), then no topics and no topic creation. */
function metadataRequest(): Buffer {
  const request = Buffer.alloc(19)
  request.writeInt32BE(request.length - 4, 0)
  request.writeInt16BE(metadata.apiKey, 4)
  request.writeInt16BE(metadata.version, 6)
  request.writeInt32BE(correlationId, 8)
  request.writeInt16BE(-1, 12)
  request.writeInt32BE(0, 14)
  request.writeInt8(0, 18)
  return request
}
