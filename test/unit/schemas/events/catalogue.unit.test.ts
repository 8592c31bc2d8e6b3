import { describe, expect, test } from 'vitest'
import { partitionCount, type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'

const all: readonly [string, Topic][] = Object.entries(topics)
const events = all.flatMap(([, topic]): readonly EventType[] => topic.events)

describe('catalogue', () => {
  test('all topics have the same number of partitions', () => {
    expect(all.map(([, topic]) => topic.partitions)).toEqual(all.map(() => partitionCount))
  })

  test.each(all)('%s is not compacted, has unlimited retention and uses LogAppendTime', (_alias, topic) => {
    expect(topic.key).toBe('job_id')
    expect(topic.config).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'message.timestamp.type': 'LogAppendTime',
    })
  })

  test('topic names, event versions and data schema URNs are unique', () => {
    expect(new Set(all.map(([, topic]) => topic.name)).size).toBe(all.length)
    expect(new Set(events.map(({ type, version }) => `${type} ${version}`)).size).toBe(events.length)
    expect(new Set(events.map(({ dataschema }) => dataschema)).size).toBe(events.length)
  })

  test.each(events)('the data schema of $type is named after the event', ({ type, version, dataschema, data }) => {
    expect(type).toMatch(/^([A-Z][a-z]+){2,}$/)
    expect(dataschema).toBe(`urn:contact-import:events:${type}:${version}`)
    expect(data.$id).toBe(type)
  })

  test('the topic whose events contain contacts is restricted', () => {
    const holdsContacts = (topic: Topic) => JSON.stringify(topic.events).includes('"$id":"Contact"')
    expect(all.filter(([, topic]) => holdsContacts(topic)).map(([, topic]) => topic.access)).toEqual(['restricted'])
  })
})
