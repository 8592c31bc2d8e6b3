import type { SupervisedChild, Supervision } from './supervised-child.ts'

export type ServiceName = 'kafka' | 'mongodb'

/** What every way of getting the services is given. `dataDir` is absolute, and this process holds its lock. */
export type ProviderRequest = {
  readonly dataDir: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly supervision: Supervision
  /**
   * Settings of a Kafka that runs as a process of this machine, beside ours or in their place; `{ours}` in a value stands
   * for what it replaces.
   */
  readonly kafkaProperties?: KafkaProperties
}

export type KafkaProperties = Readonly<Record<string, string>>

export type StartedServices = {
  readonly addresses: { readonly kafkaBrokers?: readonly string[]; readonly mongodbUrl?: string }
  /** What runs as a child of ours; nothing in Docker does. */
  readonly children: ReadonlyMap<ServiceName, SupervisedChild>
  readonly stop: () => Promise<void>
}
