import type { Admin, Kafka } from 'kafkajs'
import { withDeadline } from '#shared/runtime/deadline.ts'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'

export type ReconnectingAdmin = {
  /** Throws `DependencyLost` for any failure; the next call then uses a new connection. */
  run<T>(request: (admin: Admin) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Limit for `disconnect`: kafkajs waits for requests in flight, which a hung broker never answers. */
const closeWithinMs = 1_000

export function createReconnectingAdmin(kafka: Kafka): ReconnectingAdmin {
  let current: Promise<Admin> | null = null
  let closed = false

  async function connect(): Promise<Admin> {
    const admin = kafka.admin()
    try {
      await admin.connect()
      return admin
    } catch (error) {
      disconnect(admin)
      throw error
    }
  }

  async function run<T>(request: (admin: Admin) => Promise<T>): Promise<T> {
    if (closed) throw new DependencyLost('event_log', new Error('The connection to the event log was closed.'))
    current ??= connect()
    const used = current
    try {
      return await request(await used)
    } catch (error) {
      if (current === used) {
        current = null
        used.then(disconnect, () => {})
      }
      throw new DependencyLost('event_log', error)
    }
  }

  async function close() {
    closed = true
    const last = current
    current = null
    const disconnected = last?.then((admin) => admin.disconnect()).catch(() => {})
    if (disconnected !== undefined) await withDeadline(disconnected, closeWithinMs, () => {})
  }

  return { run, close }
}

function disconnect(admin: Admin) {
  admin.disconnect().catch(() => {})
}
