import { ChunkPlannedEvent } from './chunk-planned.ts'
import { ChunkFailedEvent, ChunkReplannedEvent, ChunkRetryScheduledEvent, ChunkSentEvent } from './deliveries.ts'
import { ImportAcceptedEvent } from './import-accepted.ts'
import { ImportCompletedEvent, ImportFailedEvent } from './jobs.ts'

/** Every topic. `admin topics apply` creates missing topics, and fails if an existing topic has other settings. */
export const topics = {
  imports: {
    name: 'contact-import.imports',
    description: 'Accepted imports and their planned chunks. Restricted, because it contains contacts.',
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
    description: 'The outcome of every delivery attempt. No personal data; open to any team.',
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
    description:
      'One event per import when it ends, appended before the HTTP interface returns the final status. No personal data; open to any team.',
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
      'Copies of records that could not be decoded, and marks for redriven and purged copies. Restricted, because the copies may contain contacts.',
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

/** All topics have the same number of partitions, so a job has the same partition number in each of them. */
export const partitionCount = topics.imports.partitions
