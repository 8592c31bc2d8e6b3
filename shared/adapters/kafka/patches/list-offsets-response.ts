import { createRequire } from 'node:module'
import { unreadableCodes } from './fetch-response.ts'
import { replaceMethod } from './replace-method.ts'

type Offsets = { readonly partition: number; readonly errorCode: number }
type Data = { readonly responses: readonly { readonly topic: string; readonly partitions: readonly Offsets[] }[] }
type ListOffsetsResponse = { parse(data: Data): Promise<Data> }

/**
 * Omits the partitions that the broker cannot read from the answer to a look-up of offsets. The broker decompresses the
 * batch at the looked-up time, and stock kafkajs rejects the offsets of all partitions if one batch is damaged.
 * Idempotent.
 */
export function patchListOffsetsResponse(): void {
  const load = createRequire(import.meta.url)
  // kafkajs uses version 3 with every supported broker.
  const response: ListOffsetsResponse = load('kafkajs/src/protocol/requests/listOffsets/v3/response')
  replaceMethod(
    response,
    'parse',
    (stock) => async (data) =>
      stock.call(response, {
        ...data,
        responses: data.responses.map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.filter(({ errorCode }) => !unreadableCodes.has(errorCode)),
        })),
      }),
  )
}
