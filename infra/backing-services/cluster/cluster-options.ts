export type ClusterOptions = {
  /** `null` starts no broker. */
  readonly kafka?: KafkaOptions | null
  /** `null` starts no member. */
  readonly mongodb?: MongodbOptions | null
}

export type KafkaOptions = {
  /** Default 3. */
  readonly brokers?: number
  /**
   * `separate` (default): one controller process beside the brokers, so that the quorum survives any number of killed
   * brokers. `combined`: each broker is a controller too, so that two killed brokers of three end the quorum.
   */
  readonly controllers?: 'separate' | 'combined'
  /** Additional broker settings. Default: replication 3, min.insync.replicas 2 and the session timeouts of Kafka. */
  readonly properties?: Readonly<Record<string, string>>
}

export type MongodbOptions = {
  /** Default 3. */
  readonly members?: number
  /** `electionTimeoutMillis` of the replica set. Default 10,000, the default of MongoDB. */
  readonly electionTimeoutMs?: number
}

/** What the cluster process can do with one node. */
export type NodeAction = 'start' | 'stop' | 'kill' | 'pause' | 'resume'

export type NodeRequest = { readonly id: number; readonly node: string; readonly action: NodeAction }

/** Messages of the cluster process: first the addresses, then one answer for each request. */
export type ClusterMessage =
  | { readonly is: 'running'; readonly kafkaBrokers: readonly string[]; readonly mongodbMembers: readonly string[] }
  | { readonly is: 'done'; readonly id: number; readonly pid: number }
  | { readonly is: 'failed'; readonly id: number; readonly reason: string }

export const nodeNames = {
  controller: 'kafka-controller',
  broker: (index: number): string => `kafka-${index + 1}`,
  member: (index: number): string => `mongodb-${index + 1}`,
}
