import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { createKafka } from '#shared/adapters/kafka/connect.ts'

/** Unpatched kafkajs 2.2.4 runs about 1,000 callbacks per second here. The allowed ones check for overdue requests. */
it('an idle connection runs at most a few timer callbacks', async () => {
  const admin = createKafka({ brokers: inject('kafkaBrokers'), clientId: 'idle-test' }).admin()
  await admin.connect()
  onTestFinished(() => admin.disconnect())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await admin.listTopics() // after each response kafkajs schedules a check
  const timeouts = vi.spyOn(globalThis, 'setTimeout')
  await vi.advanceTimersByTimeAsync(500)
  const callbacks = timeouts.mock.calls.length
  vi.useRealTimers()
  expect(callbacks).toBeLessThan(5)
})

it('logs of kafkajs reach the log function, never above warn', async () => {
  const entries: (readonly [string, string, object])[] = []
  const brokers = ['127.0.0.1:1']
  const kafka = createKafka({ brokers, clientId: 'log-test', log: (...entry) => void entries.push(entry) })
  await expect(kafka.admin().connect()).rejects.toThrow('ECONNREFUSED')
  expect(entries.length).toBeGreaterThan(0)
  expect(new Set(entries.map(([level]) => level))).toEqual(new Set(['warn']))
  expect(entries[0]?.[2]).toMatchObject({ broker: '127.0.0.1:1' })
})
