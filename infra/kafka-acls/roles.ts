import { type TopicAlias, topics } from '#schemas/events/catalogue.ts'

export type Operation = 'Read' | 'Write' | 'Describe' | 'Create' | 'Delete' | 'DescribeConfigs'

/** Allowed operations on one resource. `prefixed` applies to every resource whose name starts with `name`. */
export type Right = {
  readonly resource: 'topic' | 'group' | 'cluster'
  readonly name: string
  readonly pattern: 'literal' | 'prefixed'
  readonly operations: readonly Operation[]
}

export type Role = {
  /** The user name in the examples. An installation may choose another name. */
  readonly user: string
  readonly description: string
  readonly rights: (prefix: string) => readonly Right[]
}

type Topics = Partial<Record<TopicAlias, readonly Operation[]>>

const onTopics = (prefix: string, allowed: Topics): readonly Right[] =>
  Object.entries(topics).flatMap(([alias, { name }]): Right[] => {
    const operations = Object.entries(allowed).find(([one]) => one === alias)?.[1]
    return operations === undefined ? [] : [{ resource: 'topic', name: prefix + name, pattern: 'literal', operations }]
  })

/** Read allows group membership. Delete: a reader with a temporary consumer group deletes the group when it stops. */
const onGroups = (prefix: string): Right => ({
  resource: 'group',
  name: prefix,
  pattern: 'prefixed',
  operations: ['Read', 'Delete'],
})

/** The minimal rights of each role. In Kafka, Read and Write include Describe. */
export const roles: readonly Role[] = [
  {
    user: 'ingest',
    description: 'Appends imports, and reads past imports before it repeats an append.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read', 'Write'] }),
      onGroups(`${prefix}contact-import.ingest`),
    ],
  },
  {
    user: 'dispatcher',
    description: 'Consumes imports, replans waiting chunks, appends deliveries and writes dead letters.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read', 'Write'], deliveries: ['Read', 'Write'], deadLetters: ['Write'] }),
      onGroups(`${prefix}contact-import.dispatcher`),
    ],
  },
  {
    user: 'projector',
    description: 'Projects imports and deliveries, and appends the end of each import.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read'], deliveries: ['Read'], jobs: ['Write'] }),
      onGroups(`${prefix}contact-import.projector`),
    ],
  },
  {
    user: 'query',
    description: 'Checks only that the brokers answer. This needs no right.',
    rights: () => [],
  },
  {
    user: 'admin',
    description:
      'For operators and the set-up step: creates and checks topics, rebuilds the read model, and lists, redrives and discards dead letters.',
    rights: (prefix) => [
      { resource: 'cluster', name: 'kafka-cluster', pattern: 'literal', operations: ['Create', 'DescribeConfigs'] },
      ...onTopics(prefix, {
        imports: ['Read', 'Write', 'DescribeConfigs'],
        deliveries: ['Read', 'DescribeConfigs'],
        jobs: ['Describe', 'DescribeConfigs'],
        deadLetters: ['Read', 'Write', 'Delete', 'DescribeConfigs'],
      }),
      onGroups(`${prefix}contact-import.`),
    ],
  },
  {
    user: 'subscriber',
    description:
      'Another team: reads the topics that contain no contacts, in consumer groups whose names start with its user name.',
    rights: (prefix) => [
      ...onTopics(prefix, { deliveries: ['Read'], jobs: ['Read'] }),
      { resource: 'group', name: 'subscriber.', pattern: 'prefixed', operations: ['Read'] },
    ],
  },
]
