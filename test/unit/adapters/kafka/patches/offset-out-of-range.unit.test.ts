import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { patchOffsetOutOfRange } from '#shared/adapters/kafka/patches/offset-out-of-range.ts'

type Recover = (this: object, error: object) => Promise<void>

const load = createRequire(import.meta.url)
const { prototype } = load('kafkajs/src/consumer/consumerGroup') as {
  prototype: { recoverFromOffsetOutOfRange: Recover }
}
const stock = prototype.recoverFromOffsetOutOfRange

async function recover(method: Recover): Promise<{ readonly reset: readonly object[]; readonly thrown: unknown }> {
  const reset: object[] = []
  const group = {
    preferredReadReplicasPerTopicPartition: {},
    logger: { error() {} },
    offsetManager: { setDefaultOffset: async (place: object) => void reset.push(place) },
  }
  const error = Object.assign(new Error('out of range'), { topic: 't', partition: 3 })
  const thrown = await method.call(group, error).then(
    () => null,
    (cause: unknown) => (cause === error ? 'the error' : cause),
  )
  return { reset, thrown }
}

test('stock kafkajs replaces the committed offset and continues without an error', async () => {
  expect(await recover(stock)).toEqual({ reset: [{ topic: 't', partition: 3 }], thrown: null })
})

test('the patched method commits nothing and ends the consumer with the error', async () => {
  patchOffsetOutOfRange()
  expect(await recover(prototype.recoverFromOffsetOutOfRange)).toEqual({ reset: [], thrown: 'the error' })
})
