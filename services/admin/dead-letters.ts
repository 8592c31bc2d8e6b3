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

/** What can be done about records that could not be read. Everything throws `DependencyLost`. */
export type DeadLetterOffice = {
  /** The dead letters that nothing was done about as of this call, each once, by partition and offset. */
  open(): AsyncIterable<DeadLetter>
  /**
   * Puts the record back where it came from and then marks the dead letter. After a failure in between it is still
   * open; putting it back again appends the same fact under the same id. `not_kept`: nothing was done, because the value
   * was too large for the dead letter.
   */
  redrive(letter: DeadLetter): Promise<'redriven' | 'not_kept'>
  /** Marks the dead letter as given up. */
  discard(letter: DeadLetter): Promise<void>
  /** Removes from storage what lies before the first open dead letter of each partition; returns how many records. */
  removeClosed(): Promise<number>
}

type Deps = {
  readonly reader: EventReader
  /** Appends to the topics that records come from, and to that of the dead letters. */
  readonly appender: RawAppender
  readonly trimmer: LogTrimmer
}

const topic = topics.deadLetters.name
const partitions = Array.from({ length: partitionCount }, (_, partition) => partition)

type Placed = { readonly record: LogRecord; readonly read: DeadLetterRecord }

export function createDeadLetterOffice({ reader, appender, trimmer }: Deps): DeadLetterOffice {
  async function* readAll(partition: number): AsyncGenerator<Placed> {
    for await (const record of reader.read(topic, partition, 0)) yield { record, read: readDeadLetter(record) }
  }

  /** Marks come after what they mark, so all are read first. A mark holds for ever, also for a repeat that came late. */
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
    if (outcome.is === 'refused') throw new Error(`${record.topic} does not take a record of this size any more.`)
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
