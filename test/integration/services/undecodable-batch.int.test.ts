import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import { createMongo, type Mongo } from '#shared/adapters/mongo/connect.ts'
import { applyIndexes } from '#shared/adapters/mongo/indexes.ts'
import { type OwnServer, startOwnKafka } from '#test/support/backing/own-services.ts'
import { eventually } from '#test/support/eventually.ts'
import { damageBatch } from '#test/support/kafka/segment-file.ts'
import { type DispatchScene, startDispatchScene } from '#test/support/system/dispatch-scene.ts'
import { type ServiceProcess, startServiceProcess } from '#test/support/system/service-process.ts'

const damaged = 3
const intact = 4
const chunks = 2
/** An import is one record batch: the accepted import and its chunks. */
const secondBatch = 1 + chunks

let kafka: OwnServer & { readonly brokers: string[] }
let scene: DispatchScene
let mongo: Mongo
let database: string
let projector: ServiceProcess | undefined
beforeAll(async () => {
  kafka = await startOwnKafka()
  scene = await startDispatchScene(kafka.brokers)
  database = `test_${randomUUID().slice(0, 8)}`
  mongo = createMongo({ url: inject('mongodbUrl'), database })
  await applyIndexes(mongo.db)
})
afterAll(async () => {
  await projector?.stop()
  await scene?.remove()
  await mongo?.db.dropDatabase()
  await mongo?.close()
  await kafka?.stop()
})

const appendImport = (partition: number) => scene.appendImports({ imports: 1, chunks, partition })

async function readiness(service: ServiceProcess): Promise<{ status: number; message: string }> {
  const reply = await fetch(`${service.url}/readyz`)
  const body: unknown = await reply.json()
  return { status: reply.status, message: JSON.stringify(body) }
}

const expectReadiness = (service: ServiceProcess, message: unknown) =>
  eventually(async () => expect(await readiness(service)).toEqual({ status: 200, message }), { withinMs: 60_000 })

const remarkOn = (topic: string, offset: number) =>
  `Partition ${damaged} of ${topic} is not read: the record batch at offset ${offset} cannot be decoded.`

describe('a record batch that cannot be decoded', () => {
  it('stops only its partition; the partition continues after a repair', async () => {
    const topic = scene.topics.nameOf(topics.imports.name)
    await appendImport(damaged)
    await appendImport(damaged)
    await appendImport(intact)
    const repair = damageBatch(kafka.pid(), { topic, partition: damaged }, secondBatch)
    const dispatcher = await scene.dispatcher()
    projector = await startServiceProcess('services/projector/main.ts', {
      ...scene.environment,
      MONGODB_URL: inject('mongodbUrl'),
      MONGODB_DATABASE: database,
    })
    const services = [dispatcher, projector]
    const jobs = () => mongo.db.collection('import_jobs').countDocuments()
    await appendImport(intact)
    await scene.delivered(3 * chunks)
    await eventually(async () => expect(await jobs()).toBe(3))
    expect(scene.ai.received().chunks).toBe(3 * chunks)
    for (const service of services)
      await expectReadiness(service, expect.stringContaining(remarkOn(topic, secondBatch)))
    for (const service of services) expect(service.output().split('a record batch cannot be decoded')).toHaveLength(2)
    repair()
    await scene.delivered(4 * chunks)
    await eventually(async () => expect(await jobs()).toBe(4), { withinMs: 60_000 })
    for (const service of services) {
      await expectReadiness(service, expect.not.stringContaining('cannot be decoded'))
      expect(service.output().split('partitions assigned')).toHaveLength(2)
      expect(await service.stop()).toBe(0)
    }
  })

  it('of `deliveries` stops only the recovery of its partition', async () => {
    const topic = scene.topics.nameOf(topics.deliveries.name)
    const before = scene.ai.received().chunks
    const repair = damageBatch(kafka.pid(), { topic, partition: damaged }, 0)
    const dispatcher = await scene.dispatcher()
    await appendImport(damaged)
    await appendImport(intact)
    await expectReadiness(dispatcher, expect.stringContaining(`Partition ${damaged} of ${topic} is not read: `))
    await scene.delivered(before + chunks)
    expect(scene.ai.received().chunks).toBe(before + chunks)
    repair()
    await scene.delivered(before + 2 * chunks)
    expect(await dispatcher.stop()).toBe(0)
  })
})
