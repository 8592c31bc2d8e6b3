import { createBackoff } from '../backoff.ts'
import type { LaneProducer } from './lane-producer.ts'

export type LaneConnection = ReturnType<typeof createLaneConnection>

/** Keeps one producer connected, trying for ever, and replaces it when told to. */
export function createLaneConnection(connect: () => Promise<LaneProducer>) {
  let current: Promise<LaneProducer | null> | null = null
  const opened = Promise.withResolvers<void>()
  const closed = new AbortController()

  async function connectOnce(): Promise<LaneProducer | null> {
    await opened.promise
    const backoff = createBackoff({ firstMs: 100, lastMs: 1_000, signal: closed.signal })
    while (!closed.signal.aborted) {
      try {
        const producer = await connect()
        if (!closed.signal.aborted) return producer
        producer.close()
      } catch {
        // kafkajs has logged why; whoever waits is answered by the queue's age bound.
        await backoff.wait()
      }
    }
    return null
  }

  /** The connected producer, as soon as there is one; null after `close`. */
  function producer(): Promise<LaneProducer | null> {
    if (closed.signal.aborted) return Promise.resolve(null)
    current ??= connectOnce()
    return current
  }

  /** The producer at hand must not be used again: its sequence numbers are in doubt. */
  function replace() {
    const spent = current
    current = null
    if (!closed.signal.aborted) void producer()
    void spent?.then((one) => one?.close())
  }

  function open() {
    opened.resolve()
    void producer()
  }

  function close() {
    closed.abort()
    opened.resolve()
    void current?.then((one) => one?.close())
  }

  return { producer, replace, open, close }
}
