import type { Lane } from './lane.ts'

export function createAppender({ lanes }: { readonly lanes: readonly Lane[] }): Omit<Lane, 'topic'> {
  const byTopic = new Map(lanes.map((lane) => [lane.topic, lane]))
  const [first] = lanes
  if (first === undefined) throw new TypeError('An appender needs at least one lane.')

  return {
    partitionFor: (key) => first.partitionFor(key),
    async append(records, options) {
      const [record] = records
      if (record === undefined) return { is: 'appended' }
      const lane = byTopic.get(record.topic)
      if (lane === undefined) throw new TypeError(`No lane appends to ${record.topic}.`)
      return lane.append(records, options)
    },
    async start() {
      await Promise.all(lanes.map((lane) => lane.start()))
    },
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }
}
