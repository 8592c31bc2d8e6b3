import { createRequire } from 'node:module'
import { replaceMethod } from './replace-method.ts'

/** The members of Runner (kafkajs 2.2.4, src/consumer/runner) that the patch uses. */
export type Runner = {
  readonly running: boolean
  readonly fetchManager: { stop(): Promise<void> }
  readonly consumerGroup: { commitOffsets(offsets: unknown): Promise<void> }
  fetch(nodeId: string): Promise<readonly unknown[]>
  commitOffsets(offsets: unknown): Promise<void>
}

/**
 * Applies two changes to every consumer of this process. Idempotent.
 * - A fetch of a stopped runner stops the fetchers. When the brokers of the cluster change, kafkajs stops its fetchers and
 *   creates new ones, also if the runner was stopped meanwhile. Stock kafkajs answers the new fetchers with `[]` at
 *   once, which is an endless loop of microtasks. Related: https://github.com/tulios/kafkajs/issues/1384 and 1402.
 * - A commit is sent once, and rejects when the runner has stopped. Stock kafkajs sends a failed commit again, possibly
 *   with the next generation of the group, when another member may own the partition. After a stop it drops a commit.
 */
export function patchRunner(): void {
  const load = createRequire(import.meta.url)
  const { prototype } = load('kafkajs/src/consumer/runner') as { prototype: Runner }
  replaceMethod(
    prototype,
    'fetch',
    (stock) =>
      async function fetch(this: Runner, nodeId) {
        if (this.running) return stock.call(this, nodeId)
        // Not awaited, because `stop` resolves after this fetch.
        void this.fetchManager.stop()
        return []
      },
  )
  replaceMethod(
    prototype,
    'commitOffsets',
    () =>
      async function commitOffsets(this: Runner, offsets) {
        if (!this.running) throw new Error('The consumer has stopped.')
        await this.consumerGroup.commitOffsets(offsets)
      },
  )
}
