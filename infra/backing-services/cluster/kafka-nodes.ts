import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createKafka } from '#shared/adapters/kafka/connect.ts'
import { installKafka } from '../kafka-install.ts'
import {
  brokerSettings,
  formatOnce,
  type KafkaSettings,
  kafkaCommand,
  newClusterId,
  propertiesOf,
} from '../kafka-node.ts'
import type { ServerProgram, StartContext } from '../native-server.ts'
import { type KafkaOptions, nodeNames } from './cluster-options.ts'

type Role = 'broker' | 'controller' | 'broker,controller'
type Node = { readonly id: number; readonly name: string; readonly role: Role; readonly port: number }

/** Fewer threads and less compilation than the defaults, because all nodes share one machine. */
const javaOptions = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xss512k']
const controllerId = 100

/** Formats the storage of all nodes and returns the programs that run them, brokers first. */
export async function kafkaPrograms(options: KafkaOptions, context: StartContext): Promise<readonly ServerProgram[]> {
  const { brokers: count = 3, controllers = 'separate', properties = {} } = options
  const { dataDir, signal } = context
  const installed = await installKafka(context)
  const combined = controllers === 'combined'
  const nodes: Node[] = []
  for (let index = 0; index < count; index += 1) {
    const name = nodeNames.broker(index)
    const role = combined ? 'broker,controller' : 'broker'
    nodes.push({ id: index + 1, name, role, port: await dataDir.portFor(name) })
  }
  if (!combined) nodes.push({ id: controllerId, name: nodeNames.controller, role: 'controller', port: 0 })
  const voters = new Map<number, number>()
  for (const { id, name, role } of nodes) {
    if (role !== 'broker') voters.set(id, await dataDir.portFor(`${name}-quorum`))
  }
  const clusterId = newClusterId()
  return Promise.all(
    nodes.map(async (node) => {
      const home = join(dataDir.path, node.name)
      mkdirSync(home, { recursive: true })
      const settings = settingsOf(node, voters, count)
      await formatOnce({ installed, home, settings, clusterId, signal })
      writeFileSync(join(home, 'server.properties'), propertiesOf(settings, properties))
      const address = `127.0.0.1:${node.port}`
      const isBroker = node.role !== 'controller'
      return {
        name: node.name,
        title: `Kafka node ${node.id}`,
        ...kafkaCommand({ installed, home, heapMb: isBroker ? 448 : 192, javaOptions }),
        cwd: home,
        addresses: isBroker ? { kafkaBrokers: [address] } : {},
        probe: () => (isBroker ? probeBroker(address, node.id) : probePort(voters.get(node.id) ?? 0)),
      }
    }),
  )
}

function settingsOf(node: Node, voters: ReadonlyMap<number, number>, count: number): KafkaSettings {
  const client = `CLIENT://127.0.0.1:${node.port}`
  const controller = `CONTROLLER://127.0.0.1:${voters.get(node.id)}`
  const listeners = { broker: client, controller, 'broker,controller': `${client},${controller}` }[node.role]
  return {
    ...brokerSettings,
    'process.roles': node.role,
    'node.id': node.id,
    'controller.quorum.voters': [...voters].map(([id, port]) => `${id}@127.0.0.1:${port}`).join(','),
    listeners,
    ...(node.role === 'controller' ? {} : { 'advertised.listeners': client }),
    'default.replication.factor': count,
    'min.insync.replicas': Math.min(2, count),
    'offsets.topic.replication.factor': count,
    'transaction.state.log.replication.factor': count,
    'transaction.state.log.min.isr': Math.min(2, count),
  }
}

/** Rejects while the broker does not count itself among the live brokers. */
async function probeBroker(address: string, id: number): Promise<void> {
  const admin = createKafka({ brokers: [address], clientId: 'contact-import.probe' }).admin()
  try {
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    if (!brokers.some(({ nodeId }) => nodeId === id)) throw new Error(`The broker ${address} is not registered yet.`)
  } finally {
    await admin.disconnect()
  }
}

function probePort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
