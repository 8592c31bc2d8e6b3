import { ChunkPlannedEvent } from './chunk-planned.ts'
import { ChunkFailedEvent, ChunkReplannedEvent, ChunkRetryScheduledEvent, ChunkSentEvent } from './deliveries.ts'
import { ImportAcceptedEvent } from './import-accepted.ts'
import { ImportCompletedEvent, ImportFailedEvent } from './jobs.ts'

/** Every topic with what it promises. The start-up step creates topics from here and refuses drift. */
export const topics = {
  imports: {
    name: 'contact-import.imports',
    description: 'Accepted imports and their planned chunks: the truth. Restricted, because it holds contacts.',
    access: 'restricted',
    key: 'job_id',
    partitions: 12,
    compression: 'zstd',
    config: {
      'message.timestamp.type': 'LogAppendTime',
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'max.message.bytes': String(10 * 1024 * 1024),
    },
    events: [ImportAcceptedEvent, ChunkPlannedEvent],
  },
  deliveries: {
    name: 'contact-import.deliveries',
    description: 'What happened to each chunk. No personal data; open to any team.',
    access: 'open',
    key: 'job_id',
    partitions: 12,
    compression: 'gzip',
    config: {
      'message.timestamp.type': 'LogAppendTime',
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'max.message.bytes': String(1024 * 1024),
    },
    events: [ChunkSentEvent, ChunkFailedEvent, ChunkRetryScheduledEvent, ChunkReplannedEvent],
  },
  jobs: {
    name: 'contact-import.jobs',
    description: 'How each import ended, told before a GET of the job shows it. No personal data; open to any team.',
    access: 'open',
    key: 'job_id',
    partitions: 12,
    compression: 'gzip',
    config: {
      'message.timestamp.type': 'LogAppendTime',
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'max.message.bytes': String(1024 * 1024),
    },
    events: [ImportCompletedEvent, ImportFailedEvent],
  },
  deadLetters: {
    name: 'contact-import.dead-letters',
    description:
      'Records that could not be read, byte for byte, and what was done about them. Restricted, because they may hold contacts.',
    access: 'restricted',
    key: 'job_id',
    partitions: 12,
    compression: 'zstd',
    config: {
      'message.timestamp.type': 'LogAppendTime',
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'max.message.bytes': String(10 * 1024 * 1024),
    },
    events: [],
  },
} as const

export type TopicAlias = keyof typeof topics
export type Topic = (typeof topics)[TopicAlias]
export type TopicName = Topic['name']

/** Job partitions: all topics have the same count, so a job has the same partition in each. */
export const partitionCount = topics.imports.partitions
