import type { Admin, Kafka } from 'kafkajs'
import { DependencyLost } from '#shared/runtime/dependency-lost.ts'
import { within } from '../within.ts'

export type ReconnectingAdmin = {
  /** Asks the cluster. Throws `DependencyLost`; the next call then begins with a fresh connection. */
  ask<T>(question: (admin: Admin) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** kafkajs waits for requests under way, which a hanging broker never answers. */
const closeWithinMs = 1_000

/** An admin client that connects when first asked and is replaced after a failure. */
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

  async function ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    if (closed) throw new DependencyLost('event_log', new Error('The connection to the event log was closed.'))
    current ??= connect()
    const used = current
    try {
      return await question(await used)
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
    const disconnected = last?.then((admin) => admin.disconnect())
    if (disconnected !== undefined) await within(closeWithinMs, disconnected)
  }

  return { ask, close }
}

/** kafkajs waits here for requests under way; nobody needs to wait with it. */
function disconnect(admin: Admin) {
  admin.disconnect().catch(() => {})
}
