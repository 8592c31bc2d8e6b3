import type { AppendOutcome, RecordMark } from '#shared/ports/event-log.ts'
import type { PartitionAnswer, ProducerId } from './broker-client.ts'
import { classifyAnswer } from './classify-answer.ts'
import type { LaneQueue, Waiting } from './lane-queue.ts'

/** Appends that were sent together to one partition. A repeat sends the same records with the same sequence numbers. */
export type Batch = {
  readonly partition: number
  readonly appends: readonly Waiting[]
  readonly bytes: number
  readonly producer: ProducerId
  readonly firstSequence: number
  /** Time on the monotonic clock at which the callers get `ambiguous`. The batch is not sent again after it. */
  readonly deadline: number
  sends: number
  /** Of the last send: the broker, and the time on the monotonic clock. */
  sentTo: number
  sentAt: number
  state: 'in_flight' | 'waiting' | 'settled'
}

type NextStep =
  | { readonly do: 'stored' }
  | { readonly do: 'refuse' }
  | { readonly do: 'put_back'; readonly because: 'not_stored' | 'producer_lost' | 'too_large' }
  | { readonly do: 'repeat' }
  | { readonly do: 'fail' }

/**
 * What happens to a batch after this error code; null means that the request was lost. A rejection of the first send
 * proves that the batch is not stored. A rejection of a repeat does not, because the first send may have stored it.
 */
export function nextStep({ sends, appends }: Pick<Batch, 'sends' | 'appends'>, errorCode: number | null): NextStep {
  const answer = errorCode === null ? 'unknown' : classifyAnswer(errorCode)
  switch (answer) {
    case 'stored':
      return { do: 'stored' }
    case 'unknown':
      return { do: 'repeat' }
    case 'not_stored':
      return sends === 1 ? { do: 'put_back', because: answer } : { do: 'repeat' }
    case 'producer_lost':
      return sends === 1 ? { do: 'put_back', because: answer } : { do: 'fail' }
    case 'too_large':
      if (sends > 1) return { do: 'fail' }
      if (appends.length > 1) return { do: 'put_back', because: answer }
      return { do: 'refuse' }
    case 'failed':
      return { do: 'fail' }
    default:
      return answer satisfies never
  }
}

type NewBatch = Pick<Batch, 'partition' | 'appends' | 'producer' | 'firstSequence' | 'deadline'>

const firstSend = (batch: NewBatch, leader: number): Batch => ({
  ...batch,
  bytes: batch.appends.reduce((sum, { bytes }) => sum + bytes, 0),
  sends: 1,
  sentTo: leader,
  sentAt: performance.now(),
  state: 'in_flight',
})

const countOf = ({ appends }: Batch): number => appends.reduce((sum, { records }) => sum + records.length, 0)

/** The records of the appends have consecutive offsets and one append time. */
function settleStored(appends: readonly Waiting[], first: RecordMark | undefined) {
  if (first === undefined) return settleAll(appends, { is: 'appended' })
  let next = first.offset
  for (const { records, settle } of appends) {
    next += records.length
    settle({ is: 'appended', last: { offset: next - 1, appendedAt: first.appendedAt } })
  }
}

function settleAll(appends: readonly Waiting[], outcome: AppendOutcome) {
  for (const { settle } of appends) settle(outcome)
}

type Deps = {
  readonly partition: number
  readonly queue: LaneQueue
  readonly sendTimeoutMs: number
  /** Called when the sequence numbers of this producer may differ from those of the broker. */
  readonly onProducerLost: (producer: ProducerId) => void
}

export type PartitionBatch = ReturnType<typeof createPartitionBatch>

/** Milliseconds before a rejected or lost batch is sent again. */
const repeatAfterMs = 100
/** Sequence numbers are 32-bit and continue at 0. */
const sequenceNumbers = 2 ** 31

/** The sequence numbers of a partition, and its one batch that is not acknowledged. */
export function createPartitionBatch({ partition, queue, sendTimeoutMs, onProducerLost }: Deps) {
  let batch: Batch | null = null
  let producer: ProducerId | null = null
  let nextSequence = 0
  let sendFrom = 0

  function begin(appends: readonly Waiting[], leader: number, current: ProducerId): Batch {
    if (producer !== current) nextSequence = 0
    producer = current
    const deadline = performance.now() + sendTimeoutMs
    batch = firstSend({ partition, appends, producer, firstSequence: nextSequence, deadline }, leader)
    nextSequence = (nextSequence + countOf(batch)) % sequenceNumbers
    return batch
  }

  function end(ended: Batch, stored: boolean): readonly Waiting[] {
    if (!stored) nextSequence = ended.firstSequence
    ended.state = 'settled'
    batch = null
    return ended.appends
  }

  function fail(failed: Batch, cause: Error) {
    onProducerLost(failed.producer)
    producer = null
    settleAll(end(failed, false), { is: 'ambiguous', cause })
  }

  function answered(sent: Batch, answer: PartitionAnswer | null) {
    if (batch !== sent) return // its deadline passed
    const errorCode = answer?.errorCode ?? null
    const step = nextStep(sent, errorCode)
    if (errorCode !== 0) sendFrom = performance.now() + repeatAfterMs
    switch (step.do) {
      case 'stored':
        return settleStored(end(sent, true), answer?.first)
      case 'refuse':
        return settleAll(end(sent, false), { is: 'refused', reason: 'too_large' })
      case 'repeat':
        sent.state = 'waiting'
        return
      case 'put_back':
        if (step.because === 'producer_lost') onProducerLost(sent.producer)
        return queue.putBack(end(sent, false), { alone: step.because === 'too_large' })
      case 'fail':
        return fail(sent, new Error(`The event log refused a batch with the error code ${errorCode}.`))
    }
  }

  return {
    current: () => batch,
    /** True when a new batch may begin or the waiting batch may be repeated. */
    maySend: () => batch?.state !== 'in_flight' && performance.now() >= sendFrom,
    begin,
    answered,
    /** Gives up the current batch. Its records may still be stored. */
    giveUp: (cause: Error) => batch && fail(batch, cause),
  }
}
