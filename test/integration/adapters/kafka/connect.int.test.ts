import { expect, inject, it, vi } from 'vitest'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { eventually } from '#test/support/eventually.ts'

/**
 * kafkajs 2.2.4 starts a timer with a negative delay after each answer, which fires after 1 ms and starts itself again.
 * What remains here is its look for overdue requests: ten callbacks a second for each connection.
 */
it('an idle connection costs next to no timers', async () => {
  const admin = createKafka({ brokers: inject('kafkaBrokers'), clientId: 'idle-test' }).admin()
  await admin.connect()
  await admin.listTopics()
  const timeouts = vi.spyOn(globalThis, 'setTimeout')
  const began = performance.now()
  await eventually(() => expect(performance.now() - began).toBeGreaterThan(500))
  expect(timeouts.mock.calls.length).toBeLessThan(5)
  timeouts.mockRestore()
  await admin.disconnect()
})

it('what kafkajs has to say reaches the log function, never above a warning', async () => {
  const entries: (readonly [string, string, object])[] = []
  const brokers = ['127.0.0.1:1']
  const kafka = createKafka({ brokers, clientId: 'log-test', log: (...entry) => void entries.push(entry) })
  await expect(kafka.admin().connect()).rejects.toThrow('ECONNREFUSED')
  expect(entries.length).toBeGreaterThan(0)
  expect(new Set(entries.map(([level]) => level))).toEqual(new Set(['warn']))
  expect(entries[0]?.[2]).toMatchObject({ broker: '127.0.0.1:1' })
})
