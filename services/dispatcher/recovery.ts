import { topics } from '#schemas/events/catalogue.ts'
import { headerNames } from '#schemas/events/envelope.ts'
import { type ChunkDelivery, evolve, initialState } from '#shared/domain/delivery/chunk-delivery.ts'
import { decodeEvent } from '#shared/domain/events/codec.ts'
import { isDeliveryEvent } from '#shared/domain/events/registry.ts'
import type { Instant } from '#shared/ports/clock.ts'
import type { EventReader } from '#shared/ports/event-log.ts'
import { chunkKey } from './chunk.ts'

/** How far the clocks of two brokers may differ: looking back starts this much earlier. */
export const clockSkewMs = 60_000

export type FoldedDeliveries = ReadonlyMap<string, ChunkDelivery>

export type Look = {
  readonly reader: EventReader
  readonly partition: number
  readonly since: Instant
  /** Outcomes that answer earlier records of `contact-import.imports` cost no memory. */
  readonly fromOffset?: number
  /** Only these chunks. */
  readonly only?: { readonly jobIds: ReadonlySet<string>; readonly chunkKeys: ReadonlySet<string> }
}

/**
 * What the log says came of the partition's chunks, by chunk key. An outcome is appended after the chunk's own record,
 * so a look back from that record's time misses none, whoever wrote it. Whatever a header already rules out is not
 * decoded: a long outage makes this read long.
 */
export async function foldDeliveries({
  reader,
  partition,
  since,
  fromOffset = 0,
  only,
}: Look): Promise<FoldedDeliveries> {
  const folded = new Map<string, ChunkDelivery>()
  for await (const record of reader.read(topics.deliveries.name, partition, since - clockSkewMs)) {
    if (Number(record.headers[headerNames.importsOffset]) < fromOffset) continue
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

/** Folds that many at a time and lets others wait: each holds what it reads ahead, and more would not be faster. */
export function createFold(reader: EventReader, atOnce: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function fold(look: Omit<Look, 'reader'>): Promise<FoldedDeliveries> {
    if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await foldDeliveries({ ...look, reader })
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}

export type Fold = ReturnType<typeof createFold>
