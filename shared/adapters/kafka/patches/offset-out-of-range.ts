import { createRequire } from 'node:module'
import { replaceMethod } from './replace-method.ts'

/** The member of ConsumerGroup (kafkajs 2.2.4, src/consumer/consumerGroup) that handles OFFSET_OUT_OF_RANGE. */
export type ConsumerGroup = { recoverFromOffsetOutOfRange(error: object): Promise<void> }

/**
 * An offset out of range ends the consumer. Its replacement compares the position with the log and decides where to read.
 * Stock kafkajs overwrites the committed offset with -2 and continues at the start of the log without notice, also when
 * auto-commit is off. Applies to every consumer of this process. Idempotent.
 */
export function patchOffsetOutOfRange(): void {
  const load = createRequire(import.meta.url)
  const { prototype } = load('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup }
  replaceMethod(
    prototype,
    'recoverFromOffsetOutOfRange',
    () =>
      async function recoverFromOffsetOutOfRange(error) {
        throw error
      },
  )
}
