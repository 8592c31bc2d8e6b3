import { readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

const headerBytes = 12

/**
 * Removes all record batches at or above `fromOffset` from the last segment of a partition, like a power cut that loses
 * the end of the file. The broker must not run. Returns the new end offset: the cut is at the start of a batch.
 */
export function cutLog(logPath: string, place: { topic: string; partition: number }, fromOffset: number): number {
  const folder = join(logPath, `${place.topic}-${place.partition}`)
  const files = readdirSync(folder)
  const segment = files
    .filter((name) => name.endsWith('.log'))
    .sort()
    .at(-1)
  if (segment === undefined) throw new Error(`${folder} has no segment.`)
  const path = join(folder, segment)
  const { position, offset } = batchAt(readFileSync(path), fromOffset)
  truncateSync(path, position)
  // The broker rebuilds these files from the segment.
  for (const name of files) if (/\.(index|timeindex|snapshot)$/.test(name)) rmSync(join(folder, name))
  return offset
}

/** The first batch that ends above `fromOffset` (Kafka protocol: record batch; the first field is its first offset). */
function batchAt(bytes: Buffer, fromOffset: number): { readonly position: number; readonly offset: number } {
  for (let position = 0; position + headerBytes < bytes.length; ) {
    const offset = Number(bytes.readBigInt64BE(position))
    const lastOffset = offset + bytes.readInt32BE(position + 23)
    if (lastOffset >= fromOffset) return { position, offset }
    position += headerBytes + bytes.readInt32BE(position + 8)
  }
  throw new Error(`The log ends below offset ${fromOffset}; nothing to cut.`)
}
