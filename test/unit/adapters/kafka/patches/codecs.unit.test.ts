import { randomBytes } from 'node:crypto'
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { gzipCodec, registerCodecs, zstdCodec } from '#shared/adapters/kafka/patches/codecs.ts'
import { countEventLoopIterations } from '#test/support/event-loop-iterations.ts'

const contacts = (count: number) =>
  Buffer.from('{"phone":"+79991234567","tags":["a"],"additional_fields":{}},'.repeat(count))

describe.each([
  { name: 'zstd', codec: zstdCodec, deflate: zstdCompressSync, inflate: zstdDecompressSync, type: 'ZSTD' },
  { name: 'gzip', codec: gzipCodec, deflate: gzipSync, inflate: gunzipSync, type: 'GZIP' },
] as const)('the $name codec', ({ codec, deflate, inflate, type }) => {
  it('gives back the bytes it was given', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
        const buffer = Buffer.from(bytes)
        expect(await codec.decompress(await codec.compress({ buffer }))).toEqual(buffer)
      }),
    )
  })

  it.each([1, 2_000, 20_000, 400_000])('is what others read and write, at %i contacts', async (count) => {
    const buffer = contacts(count)
    const compressed = await codec.compress({ buffer })
    expect(inflate(compressed).equals(buffer)).toBe(true)
    expect((await codec.decompress(deflate(buffer))).equals(buffer)).toBe(true)
  })

  it('makes contacts much smaller', async () => {
    const buffer = contacts(1_000)
    expect((await codec.compress({ buffer })).length).toBeLessThan(buffer.length / 10)
  })

  it('refuses to inflate more than a batch can hold', async () => {
    const bomb = deflate(Buffer.alloc(129 * 1024 * 1024))
    await expect(codec.decompress(bomb)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
  })

  it.each([10, 100_000])('rejects damage, at %i contacts', async (count) => {
    const damaged = deflate(contacts(count)).subarray(0, -9)
    await expect(codec.decompress(damaged)).rejects.toThrow()
  })

  it('looks at other input between batches that come together, each large for this thread', async () => {
    const batch = deflate(randomBytes(8 * 1024))
    const turnNow = countEventLoopIterations()
    const turns = await Promise.all(Array.from({ length: 5 }, () => codec.decompress(batch).then(turnNow)))
    expect(new Set(turns).size).toBe(5)
  })

  it('is what kafkajs uses once it is registered', () => {
    registerCodecs()
    expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes[type]]?.()).toBe(codec)
  })
})
