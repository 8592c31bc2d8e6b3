import { randomUUID } from 'node:crypto'
import { topics } from '#schemas/events/catalogue.ts'
import { eventSources } from '#schemas/events/envelope.ts'
import { type Chunk, chunkKey, keyOf } from '#services/dispatcher/chunk.ts'
import { createOwnedPartition, type OwnedPartition } from '#services/dispatcher/owned-partition.ts'
import { foldDeliveries } from '#services/dispatcher/recovery.ts'
import { superseded } from '#services/dispatcher/replan-chunk.ts'
import { chosen } from '#services/dispatcher/replan-waiting.ts'
import { decideOutcome, evolve, nextAction } from '#shared/domain/delivery/chunk-delivery.ts'
import { decodeEvent, readPlannedChunk, repeatRecord, toRecord } from '#shared/domain/events/codec.ts'
import type { EventRecord } from '#shared/domain/events/record.ts'
import type { LogRecord } from '#shared/ports/event-log.ts'
import { createMemoryEventLog } from '../twins/event-log.ts'
import { plannedImport } from './builders/planned-imports.ts'

const imports = topics.imports.name
const deliveries = topics.deliveries.name
const partition = 0
const schedule = [5_000, 5_000, 60_000, 60_000, 60_000, 60_000]

/** A result that ends a chunk, or asks for another attempt after a wait. */
export type Ending = 'sent' | 'rejected' | 'busy'
const statusOf = { sent: 200, rejected: 400, busy: 503 } as const

type Owner = {
  readonly owned: OwnedPartition
  readonly ready: Chunk[]
  readonly waiting: Set<Chunk>
  readonly calls: Chunk[]
  /** Chunks on their way to the tail: the fact about it is not appended yet, the repeat perhaps. */
  readonly replans: { readonly chunk: Chunk; readonly appended: boolean }[]
  lost: boolean
}

/**
 * One partition, its log and its owners one after the other, with the dispatcher's own recovery, tracker and decisions.
 * What a broker, a clock or a crash can do at any moment is a method. A call that breaks the rule of `sends` throws.
 */
export function createOwnershipModel() {
  let now = Date.parse('2026-01-31T09:30:00.000Z')
  const log = createMemoryEventLog({ now: () => now })
  const planned: { readonly records: readonly EventRecord[]; appended: boolean; repeated: boolean }[] = []
  const sends = new Map<string, number>()
  let unrecorded = 0
  let committed = 0
  let owner: Owner | null = null
  /** What former owners still append after somebody else arrived: never outcomes, those are waited for. */
  const late: (() => Promise<unknown>)[] = []

  const placed = (record: EventRecord): EventRecord => ({ ...record, partition })
  const append = (records: readonly EventRecord[]) => log.append(records.map(placed))

  const resolvedKeys = (): ReadonlySet<string> => {
    const keys = log.partition(deliveries, partition).flatMap((record) => {
      const decoded = decodeEvent(record)
      if (decoded.is !== 'event') return []
      const { type, data } = decoded.event
      return type === 'ChunkSent' || type === 'ChunkFailed' ? [chunkKey(data.job_id, data.chunk_index)] : []
    })
    return new Set(keys)
  }

  const supersededOffsets = (): ReadonlySet<number> =>
    new Set(
      log.partition(deliveries, partition).flatMap((record) => {
        const decoded = decodeEvent(record)
        return decoded.is === 'event' && decoded.event.type === 'ChunkReplanned'
          ? [Number(decoded.event.data.superseded_offset)]
          : []
      }),
    )

  function follow(holder: Owner, chunk: Chunk): void {
    const action = nextAction(chunk.state, now)
    if (action.do === 'nothing') chunk.resolved(chunk)
    else if (action.do === 'wait') holder.waiting.add(chunk)
    else holder.ready.push(chunk)
  }

  /** Recovery as the dispatcher does it, once no call of a former owner can be under way. */
  async function arrive(): Promise<void> {
    const first = log.partition(imports, partition)[committed]
    const since = first?.appendedAt ?? now
    const recovered = await foldDeliveries({ reader: log, partition, since, fromOffset: committed })
    const next: Owner = {
      ready: [],
      waiting: new Set(),
      calls: [],
      replans: [],
      lost: false,
      owned: createOwnedPartition({
        partition,
        firstOffset: committed,
        limits: { offsets: 1_000, bytes: () => 1_000_000 },
        lateOriginalMs: 10_000,
        recovered,
        foldAgain: (chunks, from) =>
          foldDeliveries({
            reader: log,
            partition,
            since: from,
            only: { jobIds: new Set(chunks.map(({ jobId }) => jobId)), chunkKeys: new Set(chunks.map(keyOf)) },
          }),
        schedule: (chunk) => follow(next, chunk),
        passOver: async () => true,
        progressed: () => {},
      }),
    }
    owner = next
  }

  async function finish(holder: Owner, chunk: Chunk, ending: Ending): Promise<void> {
    holder.calls.splice(holder.calls.indexOf(chunk), 1)
    const event = decideOutcome({
      chunk: { jobId: chunk.jobId, chunkIndex: chunk.chunkIndex, size: chunk.size },
      state: chunk.state,
      result: { is: 'answered', status: statusOf[ending], retryAfter: null, durationMs: 1 },
      startedAt: now,
      now,
      schedule,
      random: 0.999,
    })
    const facts = { source: eventSources.dispatcher, time: new Date(now).toISOString() }
    await append([toRecord(event, { ...facts, extensions: { importsOffset: chunk.offsets[0] ?? 0 } })])
    chunk.state = evolve(chunk.state, event)
    if (!holder.lost) follow(holder, chunk)
  }

  const factOfReplan = (chunk: Chunk) =>
    append(chunk.offsets.map((offset) => ({ ...superseded(chunk, offset, now), partition })))

  const pick = <T>(items: readonly T[], index: number): T | undefined => items[index % Math.max(1, items.length)]

  return {
    advance(ms: number) {
      now += ms
      for (const chunk of [...(owner?.waiting ?? [])]) {
        if (owner === null || nextAction(chunk.state, now).do === 'wait') continue
        owner.waiting.delete(chunk)
        follow(owner, chunk)
      }
    },
    /** An import is accepted; whether and when its records reach the log is decided later. */
    plan(chunks: number) {
      const { records } = plannedImport({ chunks, contactsPerChunk: 1, createdAt: now, jobId: randomUUID() })
      planned.push({ records, appended: false, repeated: false })
    },
    /** The append of the first holder of the key arrives, late if somebody took the import over before. */
    async appendOriginal(index: number) {
      const one = pick(planned, index)
      if (one === undefined || one.appended) return
      if (one.repeated) now += 11_000
      one.appended = true
      await append(one.records)
    },
    /** Somebody takes the import over and finds nothing of it in the log. */
    async appendRepeat(index: number) {
      const one = pick(planned, index)
      if (one === undefined) return
      now += 11_000
      one.repeated = true
      await append(one.records.map((record) => ({ ...record, headers: { ...record.headers, ce_repeat: 'true' } })))
    },
    async read(count: number) {
      if (owner === null) return
      const from = owner.owned.window.nextOffset()
      const records: readonly LogRecord[] = log.partition(imports, partition).slice(from, from + count)
      await owner.owned.take(records)
    },
    start(index: number) {
      const chunk = owner === null ? undefined : pick(owner.ready, index)
      if (owner === null || chunk === undefined) return
      owner.ready.splice(owner.ready.indexOf(chunk), 1)
      if (resolvedKeys().has(keyOf(chunk))) throw new Error('a chunk is sent although the log holds its outcome')
      if (owner.calls.some((one) => keyOf(one) === keyOf(chunk))) throw new Error('a chunk is sent twice at a time')
      sends.set(keyOf(chunk), (sends.get(keyOf(chunk)) ?? 0) + 1)
      owner.calls.push(chunk)
    },
    async finish(index: number, ending: Ending) {
      const chunk = owner === null ? undefined : pick(owner.calls, index)
      if (owner !== null && chunk !== undefined) await finish(owner, chunk, ending)
    },
    /** The repeat of waiting chunks at the head is appended; or the log does not take it. */
    async beginReplan(appended: boolean) {
      if (owner === null) return
      for (const chunk of chosen(owner.owned.chunks(), now)) {
        if (!owner.waiting.delete(chunk) || chunk.state.status !== 'retrying') continue
        owner.owned.leaves(chunk)
        const record: EventRecord = { topic: imports, key: chunk.jobId, headers: chunk.headers, value: chunk.body }
        const notBefore = chunk.state.nextAttemptAt
        if (appended) await append([repeatRecord(record, { attempts: chunk.state.attempts, notBefore })])
        owner.replans.push({ chunk, appended })
      }
    },
    /** The fact about it is appended; or the append of the repeat was ambiguous, and the chunk keeps its place. */
    async endReplan(index: number, sure: boolean) {
      const replan = owner === null ? undefined : pick(owner.replans, index)
      if (owner === null || replan === undefined) return
      const { chunk, appended } = replan
      owner.replans.splice(owner.replans.indexOf(replan), 1)
      if (sure && appended) await factOfReplan(chunk)
      if (sure && appended) owner.owned.left(chunk)
      else owner.owned.stays(chunk)
    },
    commit() {
      if (owner === null) return
      const offset = owner.owned.window.lowWaterMark()
      if (offset < committed) throw new Error('the committed offset moves backwards')
      const [resolved, replaced] = [resolvedKeys(), supersededOffsets()]
      for (const record of log.partition(imports, partition).slice(committed, offset)) {
        const read = readPlannedChunk(record)
        if (read.is !== 'chunk' || replaced.has(record.offset)) continue
        if (!resolved.has(chunkKey(read.jobId, read.chunkIndex))) throw new Error('an undone record is committed')
      }
      committed = offset
    },
    /** In order: what runs ends, the position is committed, the next one opens at once. */
    async handOver(ending: Ending) {
      if (owner !== null) {
        for (const chunk of [...owner.calls]) await finish(owner, chunk, ending)
        this.commit()
        leave(owner, true)
      }
      await arrive()
    },
    /** The group gives the partition away: calls end and are recorded while the next owner waits. */
    async lose(ending: Ending) {
      if (owner !== null) {
        const former = owner
        leave(former, true)
        for (const chunk of [...former.calls]) await finish(former, chunk, ending)
      }
      await arrive()
    },
    /** The process dies: of its calls nobody knows what came. */
    async crash() {
      if (owner !== null) unrecorded += owner.calls.length
      if (owner !== null) leave(owner, false)
      await arrive()
    },
    async landLate() {
      await late.shift()?.()
    },
    /** Lets everything come to its end, and returns what happened. */
    async settle() {
      for (const [index] of planned.entries()) await this.appendOriginal(index)
      await this.lose('sent')
      while (late.length > 0) await this.landLate()
      for (let round = 0; round < 200; round += 1) {
        await this.read(50)
        this.advance(70_000)
        while (owner !== null && owner.ready.length > 0) this.start(0)
        while (owner !== null && owner.calls.length > 0) await this.finish(0, 'sent')
        this.commit()
        if (committed === log.partition(imports, partition).length) break
      }
      const chunks = planned.flatMap(({ records }) => records.slice(1)).length
      const mostSends = Math.max(0, ...sends.values())
      return {
        chunks,
        resolved: resolvedKeys().size,
        committed,
        end: log.partition(imports, partition).length,
        mostSends,
        unrecorded,
      }
    },
  }

  function leave(former: Owner, alive: boolean): void {
    former.lost = true
    if (alive) {
      const landing = former.replans.filter(({ appended }) => appended)
      late.push(
        ...landing.map(
          ({ chunk }) =>
            () =>
              factOfReplan(chunk),
        ),
      )
    }
    owner = null
  }
}
