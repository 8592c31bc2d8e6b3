import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'undici'

/** One request of a load: the key under which this body is imported. */
export type Shot = { readonly key: string; readonly body: Uint8Array }

export type LoadResult = {
  readonly seconds: number
  /** Milliseconds per request, ascending, from the moment it was due. */
  readonly latencies: readonly number[]
}

export type LoadTarget = { readonly url: string; readonly apiKey: string }

/** Sends imports over keep-alive connections. Any answer but 202 ends the run: its figures would mean something else. */
export function createLoad({ url, apiKey }: LoadTarget, connections: number) {
  const pool = new Pool(url, { connections, pipelining: 1 })

  async function post({ key, body }: Shot): Promise<void> {
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
    /** Each connection sends its next import as soon as the last is answered, until `next` has none left. */
    async flatOut(next: () => Shot | null): Promise<LoadResult> {
      const latencies: number[] = []
      const begun = performance.now()
      const worker = async () => {
        for (let shot = next(); shot !== null; shot = next()) {
          const at = performance.now()
          await post(shot)
          latencies.push(performance.now() - at)
        }
      }
      await Promise.all(Array.from({ length: connections }, worker))
      return { seconds: (performance.now() - begun) / 1_000, latencies: latencies.toSorted((a, b) => a - b) }
    },

    /** An import every 1/`perSecond` s, however long the answers take: what waits is counted as latency. */
    async atRate(perSecond: number, next: () => Shot | null): Promise<LoadResult> {
      const latencies: number[] = []
      const underWay: Promise<void>[] = []
      const begun = performance.now()
      for (let count = 0; ; count += 1) {
        const due = begun + (count * 1_000) / perSecond
        if (performance.now() < due) await wait(Math.ceil(due - performance.now()))
        const shot = next()
        if (shot === null) break
        underWay.push(post(shot).then(() => void latencies.push(performance.now() - due)))
      }
      await Promise.all(underWay)
      return { seconds: (performance.now() - begun) / 1_000, latencies: latencies.toSorted((a, b) => a - b) }
    },

    close: () => pool.close(),
  }
}

export type Load = ReturnType<typeof createLoad>

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
