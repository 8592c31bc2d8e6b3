import { exponentialDelays, retry, tryAgain } from '#shared/runtime/retry.ts'
import type { LaneProducer } from './lane-producer.ts'

export type LaneConnection = ReturnType<typeof createLaneConnection>

/** Keeps one producer connected. Retries without a limit: the queue answers its callers after `maxQueuedAgeMs`. */
export function createLaneConnection(connect: () => Promise<LaneProducer>) {
  let current: Promise<LaneProducer | null> | null = null
  const opened = Promise.withResolvers<void>()
  const closed = new AbortController()

  async function connectWithRetries(): Promise<LaneProducer | null> {
    await opened.promise
    const connected = await retry(
      async () => {
        const producer = await connect()
        if (!closed.signal.aborted) return producer
        producer.close()
        return tryAgain // `retry` gives up, because the signal is aborted
      },
      {
        delays: exponentialDelays({ firstMs: 100, mostMs: 1_000 }),
        signal: closed.signal,
        onError: () => {}, // kafkajs logs the error
      },
    )
    return connected.is === 'done' ? connected.value : null
  }

  function producer(): Promise<LaneProducer | null> {
    if (closed.signal.aborted) return Promise.resolve(null)
    current ??= connectWithRetries()
    return current
  }

  /** Replaces the current producer, because its sequence numbers may differ from those of the broker. */
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
