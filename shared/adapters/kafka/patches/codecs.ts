import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import kafkajs from 'kafkajs'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'

/** A batch may take 10 MiB on the wire; contacts inflate about tenfold at most. More is damage or an attack. */
const maxInflatedBytes = 128 * 1024 * 1024

/** Up to so many bytes, which take a fifth of a millisecond or less, the way to another thread and back costs more. */
const inlineBytes = { zstd: 128 * 1024, gzip: 64 * 1024 }
/**
 * What is inflated in this thread must be small on both sides: deflated and inflated. For zstd that is an import's batch,
 * which takes a millisecond. Another thread would do it for more processor time and memory: V8 keeps what Node's
 * asynchronous zlib had in hand, output included, until the next collection of the old generation. A batch then adds
 * three times its size to what brings that collection about.
 */
const inlineInflating = {
  zstd: { from: 256 * 1024, to: 2 * 1024 * 1024 },
  gzip: { from: 16 * 1024, to: 256 * 1024 },
}

/** Batches above this many bytes are inflated one in a turn of the event loop: a fetch may bring many at once. */
const ownTurnBytes = 4 * 1024
const yieldToEventLoop = createEventLoopYield(1)

/** Level 1: two and a half times the throughput of gzip on contact chunks, and smaller. */
const zstdParams = { [zlib.constants.ZSTD_c_compressionLevel]: 1 }

/** With its size known, zstd takes a window of that size; with one piece of output, one call does it. */
const zstdOptions = ({ length }: Buffer) => ({
  params: zstdParams,
  pledgedSrcSize: length,
  chunkSize: Math.max(16 * 1024, length >> 2),
})

/**
 * Level 1: on batches of outcomes half the time of the default level for 1 to 3 % more bytes. A window and tables that
 * fit what there is: to clear those for 32 KiB takes longer than to deflate a few outcomes.
 */
const gzipOptions = ({ length }: Buffer) => {
  const windowBits = Math.min(15, Math.max(9, 32 - Math.clz32(length)))
  return { level: 1, windowBits, memLevel: Math.min(8, windowBits - 7), chunkSize: Math.max(1024, length >> 2) }
}

/**
 * Output comes in pieces of this size: a few for a large batch, and no large one for a small batch. In this thread one of
 * them is kept for as long; in another thread each is a way there and back.
 */
const pieceFor = ({ length }: Buffer, most: number): number => Math.min(most, Math.max(16 * 1024, length * 8))
const mostPieceBytes = { here: 64 * 1024, inAnotherThread: 256 * 1024 }

type Inflate = (buffer: Buffer, options: { maxOutputLength: number; chunkSize: number }) => Promise<Buffer>
type InflateSync = (buffer: Buffer, options: { maxOutputLength: number; chunkSize: number }) => Buffer

/** Rejects with `ERR_BUFFER_TOO_LARGE` above 128 MiB. */
const inflater =
  (inflate: Inflate, inflateSync: InflateSync, inline: { readonly from: number; readonly to: number }) =>
  async (buffer: Buffer): Promise<Buffer> => {
    if (buffer.length <= inline.from) {
      if (buffer.length > ownTurnBytes) await yieldToEventLoop()
      try {
        const chunkSize = pieceFor(buffer, mostPieceBytes.here)
        return inflateSync(buffer, { maxOutputLength: inline.to, chunkSize })
      } catch (error) {
        if (!(error instanceof RangeError)) throw error // a RangeError: too large to do it here
      }
    }
    const chunkSize = pieceFor(buffer, mostPieceBytes.inAnotherThread)
    return inflate(buffer, { maxOutputLength: maxInflatedBytes, chunkSize })
  }

const zstd = promisify(zlib.zstdCompress)
const gzip = promisify(zlib.gzip)

export const zstdCodec = {
  compress: async ({ buffer }: { buffer: Buffer }): Promise<Buffer> =>
    buffer.length <= inlineBytes.zstd
      ? zlib.zstdCompressSync(buffer, zstdOptions(buffer))
      : zstd(buffer, zstdOptions(buffer)),
  decompress: inflater(promisify(zlib.zstdDecompress), zlib.zstdDecompressSync, inlineInflating.zstd),
}

export const gzipCodec = {
  compress: async ({ buffer }: { buffer: Buffer }): Promise<Buffer> =>
    buffer.length <= inlineBytes.gzip ? zlib.gzipSync(buffer, gzipOptions(buffer)) : gzip(buffer, gzipOptions(buffer)),
  decompress: inflater(promisify(zlib.gunzip), zlib.gunzipSync, inlineInflating.gzip),
}

/**
 * Gives kafkajs the zstd codec of Node's zlib, for it has none, and a gzip codec for small batches: its own goes through
 * a stream and another thread for each, which costs eight times as much. Repeating it changes nothing.
 */
export function registerCodecs(): void {
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => zstdCodec
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.GZIP] = () => gzipCodec
}
