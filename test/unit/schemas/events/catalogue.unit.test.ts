import { describe, expect, test } from 'vitest'
import { partitionCount, type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'

const all: readonly [string, Topic][] = Object.entries(topics)
const events = all.flatMap(([, topic]): readonly EventType[] => topic.events)

describe('catalogue', () => {
  test('a job has the same partition in every topic: all have the same number of them', () => {
    expect(all.map(([, topic]) => topic.partitions)).toEqual(all.map(() => partitionCount))
  })

  test.each(all)('%s is the truth: never compacted, kept for ever, stamped by the broker', (_alias, topic) => {
    expect(topic.key).toBe('job_id')
    expect(topic.config).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'message.timestamp.type': 'LogAppendTime',
    })
  })

  test('an event type belongs to one topic, and no two versions share a name', () => {
    expect(new Set(all.map(([, topic]) => topic.name)).size).toBe(all.length)
    expect(new Set(events.map(({ type, version }) => `${type} ${version}`)).size).toBe(events.length)
    expect(new Set(events.map(({ dataschema }) => dataschema)).size).toBe(events.length)
  })

  test.each(events)('$type names the schema of its data after itself', ({ type, version, dataschema, data }) => {
    expect(type).toMatch(/^([A-Z][a-z]+){2,}$/)
    expect(dataschema).toBe(`urn:contact-import:events:${type}:${version}`)
    expect(data.$id).toBe(type)
  })

  test('a topic with contacts in it is restricted', () => {
    const holdsContacts = (topic: Topic) => JSON.stringify(topic.events).includes('"$id":"Contact"')
    expect(all.filter(([, topic]) => holdsContacts(topic)).map(([, topic]) => topic.access)).toEqual(['restricted'])
  })
})
