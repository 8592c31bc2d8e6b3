import { chunkKeyOf, isWithin, type SinkCall } from './facts.ts'
import type { Invariant, Invariants } from './invariant.ts'
import { groupBy } from './log-index.ts'

const callsByChunk = (calls: readonly SinkCall[]): ReadonlyMap<string, readonly SinkCall[]> =>
  groupBy(calls, ({ jobId, chunkIndex }) => chunkKeyOf(jobId, chunkIndex))

const isDelivered = ({ status }: SinkCall): boolean => status !== null && status >= 200 && status <= 299
const isFinal = ({ status }: SinkCall): boolean =>
  status !== null && status >= 300 && status < 500 && ![408, 425, 429].includes(status)

/** Includes unacknowledged imports: a producer that missed the answer may never repeat the import. */
const everyChunkIsResolved: Invariant = ({ calls }, { planned, outcomes }) => {
  const received = callsByChunk(calls)
  return [...planned.keys()].flatMap((chunk) => {
    const [outcome] = outcomes.get(chunk) ?? []
    const ofChunk = received.get(chunk) ?? []
    if (outcome === undefined)
      return [`Chunk ${chunk} has no outcome; the AI system received it ${ofChunk.length} times.`]
    if (outcome.event.type === 'ChunkSent') {
      return ofChunk.some(isDelivered) ? [] : [`Chunk ${chunk} is logged as sent, but the AI system never accepted it.`]
    }
    return ofChunk.some(isFinal) ? [] : [`Chunk ${chunk} is logged as failed, but the AI system never rejected it.`]
  })
}

const contactsArriveAsPlanned: Invariant = ({ calls }, { planned }) =>
  calls.flatMap(({ jobId, chunkIndex, phones }) => {
    const [chunk] = planned.get(chunkKeyOf(jobId, chunkIndex)) ?? []
    if (chunk === undefined)
      return [`The AI system received chunk ${chunkIndex} of job ${jobId}, which is not in the log.`]
    const same = chunk.event.data.contacts.map(({ phone }) => phone).join() === phones.join()
    return same ? [] : [`The AI system received other contacts than planned in chunk ${chunkIndex} of job ${jobId}.`]
  })

/** A repeated append has the same id. Two ids mean that two attempts ended, or that one chunk was sent and failed. */
const oneOutcomePerChunk: Invariant = ({ zombieWindows }, { outcomes }) =>
  [...outcomes].flatMap(([chunk, [first, ...others]]) => {
    const second = others.find(({ id, appendedAt }) => id !== first?.id && !isWithin(zombieWindows, appendedAt))
    return second === undefined ? [] : [`Chunk ${chunk} has two outcomes: ${first?.id} and ${second.id}.`]
  })

const noOutcomeWithoutChunk: Invariant = (_, { planned, outcomes }) =>
  [...outcomes.keys()]
    .filter((chunk) => !planned.has(chunk))
    .map((chunk) => `Chunk ${chunk} has an outcome but no ChunkPlanned.`)

const noCallAfterSuccess: Invariant = ({ calls, zombieWindows }, { outcomes }) =>
  calls.flatMap(({ jobId, chunkIndex, sentAt }) => {
    const chunk = chunkKeyOf(jobId, chunkIndex)
    const success = outcomes.get(chunk)?.find(({ event }) => event.type === 'ChunkSent')
    if (success === undefined || sentAt <= success.appendedAt || isWithin(zombieWindows, sentAt)) return []
    return [`Chunk ${chunk} was delivered again ${sentAt - success.appendedAt} ms after its success was logged.`]
  })

export const deliveryInvariants: Invariants = {
  'every chunk in the log is delivered or rejected': everyChunkIsResolved,
  'the contacts arrive as planned': contactsArriveAsPlanned,
  'a chunk has one outcome': oneOutcomePerChunk,
  'an outcome belongs to a planned chunk': noOutcomeWithoutChunk,
  'no chunk is delivered after its success was logged': noCallAfterSuccess,
}
