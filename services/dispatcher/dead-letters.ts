import { eventSources } from '#schemas/events/envelope.ts'
import { deadLetterRecord, withoutOriginal, withoutValue } from '#shared/domain/dead-letters/dead-letter.ts'
import { type UnreadableChunk, unreadableChunkFailed } from '#shared/domain/dead-letters/unreadable-chunk.ts'
import { toRecord } from '#shared/domain/events/codec.ts'
import type { Clock } from '#shared/ports/clock.ts'
import type { EventAppender, LogRecord, RawAppender } from '#shared/ports/event-log.ts'
import { type AppendDeps, AppendGivenUp, appendUntilAnswered } from './append-until-answered.ts'
import { chunkKey } from './chunk.ts'
import type { UnreadableRecord } from './partition/partition-chunks.ts'

type Deps = AppendDeps & {
  readonly deadLetters: RawAppender
  readonly appender: EventAppender
  readonly clock: Clock
}

/**
 * False when the process stopped first, or when the log refuses even the smallest dead letter or the `ChunkFailed`. The
 * offset is then not committed, and the next owner of the partition reads the record again.
 */
export type StoreDeadLetter = (unreadable: UnreadableRecord) => Promise<boolean>

/**
 * Appends the dead letter, then `ChunkFailed`. After a crash between them, the next owner appends both again with the
 * same ids, so that readers count each once.
 */
export function createStoreDeadLetter(deps: Deps): StoreDeadLetter {
  const { deadLetters, appender, clock, log } = deps

  async function appendDeadLetter({ record, reason, chunk }: UnreadableRecord): Promise<'appended' | 'refused'> {
    const letter = deadLetterRecord(record, { reason, chunk: chunk && chunkKey(chunk.jobId, chunk.chunkIndex) })
    const whole = await appendUntilAnswered(() => deadLetters.append([letter], { urgent: true }), deps)
    if (whole.is === 'appended') return 'appended'
    for (const smaller of [withoutValue(letter), withoutOriginal(letter)]) {
      const { is } = await appendUntilAnswered(() => deadLetters.append([smaller], { urgent: true }), deps)
      if (is === 'appended') return is
    }
    return 'refused'
  }

  /** Uses the partition of the job id, because the unreadable record may be in another partition. */
  async function failChunk(chunk: UnreadableChunk, { offset }: LogRecord): Promise<'appended' | 'refused'> {
    const now = clock.now()
    const failed = toRecord(unreadableChunkFailed(chunk, now), {
      source: eventSources.dispatcher,
      time: new Date(now).toISOString(),
      partition: appender.partitionFor(chunk.jobId),
      extensions: { importsOffset: offset },
    })
    return (await appendUntilAnswered(() => appender.append([failed], { urgent: true }), deps)).is
  }

  return async function storeDeadLetter(unreadable) {
    const { record, reason, chunk } = unreadable
    try {
      const letter = await appendDeadLetter(unreadable)
      const failure = chunk === null || letter === 'refused' ? letter : await failChunk(chunk, record)
      const stored = failure === 'appended'
      const { partition, offset } = record
      log.error(
        { partition, offset, reason, job_id: chunk?.jobId ?? null, chunk_index: chunk?.chunkIndex ?? null },
        stored
          ? 'unreadable record stored as a dead letter'
          : 'the log refused the dead letter of an unreadable record or the failure of its chunk; its offset is not committed',
      )
      return stored
    } catch (error) {
      if (error instanceof AppendGivenUp) return false
      throw error
    }
  }
}
