import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import kafkajs from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { gzipCodec, registerCodecs, zstdCodec } from '#shared/adapters/kafka/patches/codecs.ts'
import { countEventLoopIterations } from '#test/support/event-loop-iterations.ts'

const contacts = (count: number) =>
  Buffer.from('{"phone":"+79991234567","tags":["a"],"additional_fields":{}},'.repeat(count))

/** The gzip codec of kafkajs itself. Registering another codec does not change it. */
const stock: typeof gzipCodec = createRequire(import.meta.url)('kafkajs/src/protocol/message/compression/gzip')

describe('stock kafkajs', () => {
  it('has no zstd codec', () => {
    expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD]).toThrow('not implemented')
  })

  it('reads and writes the same gzip format as our codec', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 100_000 }), async (bytes) => {
        const buffer = Buffer.from(bytes)
        expect((await stock.decompress(await gzipCodec.compress({ buffer }))).equals(buffer)).toBe(true)
        expect((await gzipCodec.decompress(await stock.compress({ buffer }))).equals(buffer)).toBe(true)
      }),
    )
  })
})

describe.each([
  { name: 'zstd', codec: zstdCodec, deflate: zstdCompressSync, inflate: zstdDecompressSync, type: 'ZSTD' },
  { name: 'gzip', codec: gzipCodec, deflate: gzipSync, inflate: gunzipSync, type: 'GZIP' },
] as const)('the $name codec', ({ codec, deflate, inflate, type }) => {
  it('decompresses what it compressed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 5_000 }), async (bytes) => {
        const buffer = Buffer.from(bytes)
        expect(await codec.decompress(await codec.compress({ buffer }))).toEqual(buffer)
      }),
    )
  })

  it.each([1, 2_000, 20_000, 400_000])('is compatible with zlib, with %i contacts', async (count) => {
    const buffer = contacts(count)
    const compressed = await codec.compress({ buffer })
    expect(inflate(compressed).equals(buffer)).toBe(true)
    expect((await codec.decompress(deflate(buffer))).equals(buffer)).toBe(true)
  })

  it('compresses contacts at least tenfold', async () => {
    const buffer = contacts(1_000)
    expect((await codec.compress({ buffer })).length).toBeLessThan(buffer.length / 10)
  })

  it('rejects output above 128 MiB', async () => {
    const bomb = deflate(Buffer.alloc(129 * 1024 * 1024))
    await expect(codec.decompress(bomb)).rejects.toMatchObject({ code: 'ERR_BUFFER_TOO_LARGE' })
  })

  it.each([10, 100_000])('rejects damaged input, with %i contacts', async (count) => {
    const damaged = deflate(contacts(count)).subarray(0, -9)
    await expect(codec.decompress(damaged)).rejects.toThrow()
  })

  it('decompresses concurrent batches in different event loop iterations', async () => {
    const batch = deflate(randomBytes(8 * 1024))
    const iteration = countEventLoopIterations()
    const iterations = await Promise.all(Array.from({ length: 5 }, () => codec.decompress(batch).then(iteration)))
    expect(new Set(iterations).size).toBe(5)
  })

  it('is used by kafkajs once it is registered', () => {
    registerCodecs()
    expect(kafkajs.CompressionCodecs[kafkajs.CompressionTypes[type]]?.()).toBe(codec)
  })
})
