import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { type ChunkDelivery, evolve, initialState } from '#shared/domain/delivery/chunk-delivery.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { isDeliveryEvent } from '#shared/domain/events/registry.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { EventReader } from '#shared/ports/event-log.ts'
import { chunkKey } from '../chunk.ts'

/** Broker clocks may differ by this much, so a fold starts to read this much earlier. */
export const clockSkewMs = 60_000

/** Delivery states by chunk key. */
export type FoldedDeliveries = ReadonlyMap<string, ChunkDelivery>

export type FoldRequest = {
  readonly partition: number
  /** The append time of the chunk's record, or earlier. No outcome of the chunk is older. */
  readonly since: Instant
  /** Skips outcomes of records of `contact-import.imports` below this offset. */
  readonly fromOffset?: number
  readonly only?: { readonly jobIds: ReadonlySet<string>; readonly chunkKeys: ReadonlySet<string> }
}

/** Filters records by headers before it decodes them, because after an outage it skips many records. */
export async function foldDeliveries(
  reader: EventReader,
  { partition, since, fromOffset = 0, only }: FoldRequest,
): Promise<FoldedDeliveries> {
  const folded = new Map<string, ChunkDelivery>()
  for await (const record of reader.read(topics.deliveries.name, partition, since - clockSkewMs)) {
    if (Number(record.header(headerNames.importsOffset)) < fromOffset) continue
    if (only !== undefined && !only.jobIds.has(record.key ?? '')) continue
    const decoded = decodeEvent(record)
    if (decoded.is !== 'event' || !isDeliveryEvent(decoded.event)) continue
    const { event, extensions } = decoded
    if ((extensions.importsOffset ?? 0) < fromOffset) continue
    const key = chunkKey(event.data.job_id, event.data.chunk_index)
    if (only !== undefined && !only.chunkKeys.has(key)) continue
    folded.set(key, evolve(folded.get(key) ?? initialState, event))
  }
  return folded
}

/** Runs at most `atOnce` folds at a time, because each fold holds prefetched records in memory. */
export function createFold(reader: EventReader, atOnce: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function fold(request: FoldRequest): Promise<FoldedDeliveries> {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await foldDeliveries(reader, request)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

export type Fold = ReturnType<typeof createFold>
