import { readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const crc32C: (bytes: Buffer) => number = createRequire(import.meta.url)(
  'kafkajs/src/protocol/recordBatch/crc32C/crc32C',
)

/** Fields of a record batch, as distances from its first byte. The checksum covers everything after itself. */
const lengthAt = 8
const checksumAt = 17
const attributesAt = 21
const recordsAt = 61

type Place = { readonly topic: string; readonly partition: number }

/**
 * Overwrites the compressed records of the batch with this base offset in the first segment of a running broker. The
 * checksum of the batch is correct again, so that the broker keeps the batch. Returns the function that repairs it.
 */
export function damageBatch(brokerPid: number, { topic, partition }: Place, baseOffset: number): () => void {
  const file = join(readlinkSync(`/proc/${brokerPid}/cwd`), 'data', `${topic}-${partition}`, `${'0'.repeat(20)}.log`)
  const before = readFileSync(file)
  const damaged = Buffer.from(before)
  for (let at = 0; at < damaged.length; ) {
    const end = at + lengthAt + 4 + damaged.readInt32BE(at + lengthAt)
    if (Number(damaged.readBigInt64BE(at)) === baseOffset) {
      damaged.fill(0x55, at + recordsAt, end)
      damaged.writeUInt32BE(crc32C(damaged.subarray(at + attributesAt, end)), at + checksumAt)
      writeFileSync(file, damaged, { flag: 'r+' })
      return () => writeFileSync(file, before, { flag: 'r+' })
    }
    at = end
  }
  throw new Error(`${file} has no batch at offset ${baseOffset}.`)
}
