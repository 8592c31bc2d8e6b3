import type { Topic } from '#schemas/events/catalogue.ts'

type EventName = Topic['events'][number]['type']

const oneSentence: Readonly<Record<EventName, string>> = {
  ImportAccepted: 'An import was accepted; its chunks follow in the same record batch.',
  ChunkPlanned: 'A chunk of valid contacts waits for delivery.',
  ChunkSent: 'The AI system took the chunk. Final.',
  ChunkFailed: 'The chunk will not be delivered. Final.',
  ChunkRetryScheduled: 'An attempt failed and another is planned.',
  ChunkReplanned: 'A waiting chunk was planned again at the tail of the imports.',
  ImportCompleted: 'An import has ended; something of it was sent, or there was nothing to send. Final, once per job.',
  ImportFailed: 'An import has ended; nothing of it could be sent. Final, once per job.',
}

/** What each event says, in a sentence. */
export const summaries: Readonly<Record<string, string>> = oneSentence

/** What a reader may rely on in every topic. */
export const delivery = {
  guarantee: 'at least once',
  deduplicateBy: 'ce_id',
  ordering:
    'Records with the same key are in the order in which they were appended; topics are not ordered against each other.',
  outcomes: 'Of two different outcomes of one chunk the first by offset is the one that counts.',
  partitioning: 'murmur2 of the key, as Kafka’s own clients do it: a job has the same partition number in every topic.',
} as const

/** How long the topic keeps its records, in words. */
export function retentionOf(topic: Topic): string {
  const ms: string = topic.config['retention.ms']
  return ms === '-1' ? 'unlimited' : `${Number(ms) / 86_400_000} days`
}
