import { createRequire } from 'node:module'
import { beforeAll, describe, expect, it } from 'vitest'
import { patchListOffsetsResponse } from '#shared/adapters/kafka/patches/list-offsets-response.ts'

type Data = {
  readonly responses: readonly {
    readonly topic: string
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number; readonly offset: string }[]
  }[]
}

const response: { parse(data: Data): Promise<Data> } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/requests/listOffsets/v3/response',
)

const withError = (errorCode: number): Data => ({
  responses: [
    {
      topic: 'topic',
      partitions: [
        { partition: 0, errorCode, offset: '-1' },
        { partition: 1, errorCode: 0, offset: '7' },
      ],
    },
  ],
})
const unknown = -1
const corrupt = 2
const notLeader = 6

describe('stock kafkajs', () => {
  it.each([unknown, corrupt])('rejects the offsets of all partitions for the error %i of one', async (code) => {
    await expect(response.parse(withError(code))).rejects.toThrow()
  })
})

describe('a patched response', () => {
  beforeAll(() => {
    patchListOffsetsResponse()
    patchListOffsetsResponse() // idempotent
  })

  it.each([unknown, corrupt])('omits only the partition with the error %i', async (code) => {
    const { responses } = await response.parse(withError(code))
    expect(responses[0]?.partitions).toEqual([{ partition: 1, errorCode: 0, offset: '7' }])
  })

  it('passes other errors on, because new metadata may repair them', async () => {
    await expect(response.parse(withError(notLeader))).rejects.toMatchObject({ type: 'NOT_LEADER_FOR_PARTITION' })
  })
})
