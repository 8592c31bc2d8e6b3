import { partitionCount, topics } from '#schemas/events/catalogue.ts'
import {
  type DeadLetter,
  type DeadLetterRecord,
  markRecord,
  readDeadLetter,
  redrivenRecord,
} from '#shared/domain/dead-letters/dead-letter.ts'
import type { EventReader, LogRecord, LogTrimmer, RawAppender, RawRecord } from '#shared/ports/event-log.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

/** Every method throws `DependencyLost` when the event log is not available. */
export type DeadLetterStore = {
  /** Yields each dead letter that was neither redriven nor purged, once, ordered by partition and offset. */
  open(): AsyncIterable<DeadLetter>
  /**
   * Appends the record to its origin topic again, then a mark that closes the dead letter. After a failure between the
   * two appends the dead letter is still open. `not_kept`: nothing was appended, because the value is not stored.
   */
  redrive(letter: DeadLetter): Promise<'redriven' | 'not_kept'>
  /** Closes the dead letter without a redrive. */
  discard(letter: DeadLetter): Promise<void>
  /** Deletes the records before the first open dead letter of each partition; returns how many. */
  removeClosed(): Promise<number>
}

type Deps = {
  readonly reader: EventReader
  readonly appender: RawAppender
  readonly trimmer: LogTrimmer
}

const topic = topics.deadLetters.name
const partitions = Array.from({ length: partitionCount }, (_, partition) => partition)

type Placed = { readonly record: LogRecord; readonly read: DeadLetterRecord }

export function createDeadLetterStore({ reader, appender, trimmer }: Deps): DeadLetterStore {
  async function* readAll(partition: number): AsyncGenerator<Placed> {
    for await (const record of reader.read(topic, partition, 0)) yield { record, read: readDeadLetter(record) }
  }

  /** Reads the whole partition, because a mark follows its dead letter and also closes later copies of the dead letter. */
  async function closedIn(partition: number): Promise<{ readonly closed: ReadonlySet<string>; readonly end: number }> {
    const closed = new Set<string>()
    let end = 0
    for await (const { record, read } of readAll(partition)) {
      if (read.is === 'mark') closed.add(read.id)
      end = record.offset + 1
    }
    return { closed, end }
  }

  async function append(record: RawRecord): Promise<void> {
    const outcome = await appender.append([record])
    if (outcome.is === 'appended') return
    if (outcome.is === 'refused') throw new Error(`${record.topic} refuses a record of this size.`)
    throw new DependencyLost('event_log', outcome.is === 'ambiguous' ? outcome.cause : new Error('overloaded'))
  }

  return {
    async *open() {
      for (const partition of partitions) {
        const { closed } = await closedIn(partition)
        const seen = new Set<string>()
        for await (const { read } of readAll(partition)) {
          if (read.is !== 'letter' || closed.has(read.letter.id) || seen.has(read.letter.id)) continue
          seen.add(read.letter.id)
          yield read.letter
        }
      }
    },
    async redrive(letter) {
      const record = redrivenRecord(letter)
      if (record === null) return 'not_kept'
      await append(record)
      await append(markRecord(letter, 'redriven'))
      return 'redriven'
    },
    discard: (letter) => append(markRecord(letter, 'purged')),
    async removeClosed() {
      let removed = 0
      for (const partition of partitions) {
        const { closed, end } = await closedIn(partition)
        let before = end
        for await (const { record, read } of readAll(partition)) {
          if (read.is !== 'letter' || closed.has(read.letter.id)) continue
          before = Math.min(before, record.offset)
          break
        }
        removed += await trimmer.removeBefore(topic, partition, before)
      }
      return removed
    },
  }
}
