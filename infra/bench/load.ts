import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'

export type ImportPost = { readonly key: string; readonly body: Uint8Array }

export type LoadResult = {
  readonly seconds: number
  /** Milliseconds per request, ascending. `atRate` measures from the scheduled start. */
  readonly latencies: readonly number[]
}

export type LoadTarget = { readonly url: string; readonly apiKey: string }

/** Sends imports over keep-alive connections. Throws on a response other than 202, which would distort the figures. */
export function createLoad({ url, apiKey }: LoadTarget, connections: number) {
  const pool = new Pool(url, { connections, pipelining: 1 })

  async function post({ key, body }: ImportPost): Promise<void> {
    const answer = await pool.request({
      method: 'POST',
      path: '/v1/contacts/import',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}`, 'idempotency-key': key },
      body,
    })
    const text = await answer.body.text()
    if (answer.statusCode !== 202) throw new Error(`An import was answered ${answer.statusCode}: ${text.slice(0, 300)}`)
  }

  return {
    /** Each connection sends the next import after a response, until `next` returns null. */
    async closedLoop(next: () => ImportPost | null): Promise<LoadResult> {
      const latencies: number[] = []
      const begun = performance.now()
      const worker = async () => {
        for (let one = next(); one !== null; one = next()) {
          const at = performance.now()
          await post(one)
          latencies.push(performance.now() - at)
        }
      }
      await Promise.all(Array.from({ length: connections }, worker))
      return { seconds: (performance.now() - begun) / 1_000, latencies: latencies.toSorted((a, b) => a - b) }
    },

    /** Open loop: `perSecond` imports per second. Latency includes the wait for a connection. */
    async atRate(perSecond: number, next: () => ImportPost | null): Promise<LoadResult> {
      const latencies: number[] = []
      const inFlight: Promise<void>[] = []
      const begun = performance.now()
      for (let count = 0; ; count += 1) {
        const scheduled = begun + (count * 1_000) / perSecond
        if (performance.now() < scheduled) await wait(Math.ceil(scheduled - performance.now()))
        const one = next()
        if (one === null) break
        inFlight.push(post(one).then(() => void latencies.push(performance.now() - scheduled)))
      }
      await Promise.all(inFlight)
      return { seconds: (performance.now() - begun) / 1_000, latencies: latencies.toSorted((a, b) => a - b) }
    },

    close: () => pool.close(),
  }
}

export type Load = ReturnType<typeof createLoad>

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
