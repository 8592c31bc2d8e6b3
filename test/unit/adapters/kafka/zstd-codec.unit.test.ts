import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { registerZstdCodec, zstdCodec } from '#shared/adapters/kafka/zstd-codec.ts'

describe('the zstd codec', () => {
  it('gives back the bytes it was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
        const buffer = Buffer.from(bytes)
        expect(await zstdCodec.decompress(await zstdCodec.compress({ buffer }))).toEqual(buffer)
      }),
    )
  })

  it('makes contacts much smaller', async () => {
    const buffer = Buffer.from('{"phone":"+79991234567","tags":["a"],"additional_fields":{}},'.repeat(1_000))
    expect((await zstdCodec.compress({ buffer })).length).toBeLessThan(buffer.length / 10)
  })

  it('refuses to inflate more than a batch can hold', async () => {
    const bomb = zstdCompressSync(Buffer.alloc(129 * 1024 * 1024))
    await expect(zstdCodec.decompress(bomb)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
  })

  it('is what kafkajs uses once it is registered', () => {
    registerZstdCodec()
    expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]?.()).toBe(zstdCodec)
  })
})
