import { type TopicAlias, topics } from '#schemas/events/catalogue.ts'

export type Operation = 'Read' | 'Write' | 'Describe' | 'Create' | 'Delete' | 'DescribeConfigs'

/** What a user of the Kafka cluster may do with one resource. `prefixed`: with every one whose name begins so. */
export type Right = {
  readonly resource: 'topic' | 'group' | 'cluster'
  readonly name: string
  readonly pattern: 'literal' | 'prefixed'
  readonly operations: readonly Operation[]
}

export type Role = {
  /** The name of the user in the examples; any other does as well. */
  readonly user: string
  readonly description: string
  /** For an installation with this KAFKA_PREFIX. */
  readonly rights: (prefix: string) => readonly Right[]
}

type Topics = Partial<Record<TopicAlias, readonly Operation[]>>

const onTopics = (prefix: string, allowed: Topics): readonly Right[] =>
  Object.entries(topics).flatMap(([alias, { name }]): Right[] => {
    const operations = Object.entries(allowed).find(([one]) => one === alias)?.[1]
    return operations === undefined ? [] : [{ resource: 'topic', name: prefix + name, pattern: 'literal', operations }]
  })

/** A service's groups begin with its name; those it makes for looking back it removes, or they expire. */
const onGroups = (begin: string): Right => ({
  resource: 'group',
  name: begin,
  pattern: 'prefixed',
  operations: ['Read', 'Delete'],
})

/** Everything each part of the system needs, and nothing else. Whoever may read or write a topic may describe it. */
export const roles: readonly Role[] = [
  {
    user: 'ingest',
    description: 'Appends imports, and looks back in them before it repeats one.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read', 'Write'] }),
      onGroups(`${prefix}contact-import.ingest`),
    ],
  },
  {
    user: 'dispatcher',
    description: 'Follows imports, plans waiting chunks again, appends deliveries, and keeps what it cannot read.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read', 'Write'], deliveries: ['Read', 'Write'], deadLetters: ['Write'] }),
      onGroups(`${prefix}contact-import.dispatcher`),
    ],
  },
  {
    user: 'projector',
    description: 'Folds imports and deliveries, and tells how each import ended.',
    rights: (prefix) => [
      ...onTopics(prefix, { imports: ['Read'], deliveries: ['Read'], jobs: ['Write'] }),
      onGroups(`${prefix}contact-import.projector`),
    ],
  },
  {
    user: 'query',
    description: 'Only asks whether the brokers answer, which every user may.',
    rights: () => [],
  },
  {
    user: 'admin',
    description:
      'Creates and checks topics, builds the read model anew, and lists, puts back and gives up dead letters. For people and the start-up step.',
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
    description: 'Any other team: reads what holds no contacts, in groups that begin with its own name.',
    rights: (prefix) => [
      ...onTopics(prefix, { deliveries: ['Read'], jobs: ['Read'] }),
      { resource: 'group', name: 'subscriber.', pattern: 'prefixed', operations: ['Read'] },
    ],
  },
]
