import type { Collection, Db, Filter } from 'mongodb'
import type {
  LeaseHolder,
  LeaseOutcome,
  ProjectionLease,
  ProjectionRevisions,
  ProjectionState,
  ProjectionStates,
} from '#shared/ports/projections.ts'
import { callDatabase } from './call-database.ts'
import { importJobsCollection, positionsCollection } from './import-jobs.ts'

export const projectionsCollection = 'projections'

const leaseMs = 30_000

type StateDocument = ProjectionState & {
  readonly _id: string
  /** Number of collections created so far. A collection name is never used again. */
  readonly begun: number
  readonly building: (Omit<LeaseHolder, 'until'> & { readonly until: Date }) | null
}
type RevisionDocument = { readonly _id: string; readonly partition: number; readonly revision: number }

const stateId = importJobsCollection
const initial: Omit<StateDocument, '_id'> = {
  revision: 0,
  active: importJobsCollection,
  alongside: null,
  previous: null,
  begun: 1,
  building: null,
}

/** Stores the projection state in the same database as the collections, so that a restore keeps them consistent. */
export function createMongoProjections({
  db,
}: {
  readonly db: Db
}): ProjectionStates & ProjectionRevisions & ProjectionLease {
  const states = db.collection<StateDocument>(projectionsCollection)
  const revisions = db.collection<RevisionDocument>(projectionsCollection)
  const read = () => callDatabase(() => states.findOne({ _id: stateId }, { readConcern: 'majority' }))
  return {
    state: async () => stateOf((await read()) ?? initial),

    async change(holder, { active, alongside, previous }) {
      const update = { $set: { active, alongside, previous }, $inc: { revision: 1 } }
      const changed = await callDatabase(() =>
        states.findOneAndUpdate(heldBy(holder), update, { returnDocument: 'after' }),
      )
      return changed && stateOf(changed)
    },

    async drop(collection) {
      await dropCollection(db, collection, stateOf((await read()) ?? initial))
    },

    async confirm(partition, revision) {
      const update = { $max: { revision }, $setOnInsert: { partition } }
      await callDatabase(() => revisions.updateOne({ _id: `${stateId}/${partition}` }, update, { upsert: true }))
    },

    async confirmed(revision) {
      const found = revisions.find({ partition: { $exists: true }, revision: { $gte: revision } })
      return (await callDatabase(() => found.toArray())).map(({ partition }) => partition)
    },

    async acquire(holder, target, now) {
      await callDatabase(() => states.updateOne({ _id: stateId }, { $setOnInsert: initial }, { upsert: true }))
      return await acquire(db, states, { holder, target, now })
    },

    async renew(holder, now) {
      const renewed = { $set: { 'building.until': new Date(now + leaseMs) } }
      const { matchedCount } = await callDatabase(() => states.updateOne(heldBy(holder), renewed))
      return matchedCount === 1
    },

    async release(holder) {
      await callDatabase(() => states.updateOne(heldBy(holder), { $set: { building: null } }))
    },
  }
}

const heldBy = (holder: string): Filter<StateDocument> => ({ _id: stateId, 'building.holder': holder })

const stateOf = ({ revision, active, alongside, previous }: Omit<StateDocument, '_id'>): ProjectionState => ({
  revision,
  active,
  alongside,
  previous,
})

type Request = { readonly holder: string; readonly target: 'new' | 'previous'; readonly now: number }

async function acquire(db: Db, states: Collection<StateDocument>, request: Request): Promise<LeaseOutcome> {
  const { holder, target, now } = request
  const found = await callDatabase(() => states.findOne({ _id: stateId }))
  if (found === null) throw new Error('The state of the projections was removed while it was read.')
  if (found.building !== null && found.building.until.getTime() > now) {
    return { is: 'held', by: { ...found.building, until: found.building.until.getTime() } }
  }
  const begun = found.begun + (target === 'new' ? 1 : 0)
  const collection = target === 'new' ? `${importJobsCollection}_${begun}` : found.previous
  if (collection === null) return { is: 'no_previous' }
  const building = { holder, collection, until: new Date(now + leaseMs) }
  const changed = await callDatabase(() =>
    states.findOneAndUpdate(
      // Matches only if no other holder changed the document since it was read.
      { _id: stateId, revision: found.revision, building: found.building },
      { $set: { building, begun, alongside: null }, $inc: { revision: 1 } },
      { returnDocument: 'after' },
    ),
  )
  if (changed === null) return acquire(db, states, request)
  await dropUnfinished(db, stateOf(changed))
  return { is: 'acquired', holder, collection, state: stateOf(changed) }
}

async function dropUnfinished(db: Db, state: ProjectionState): Promise<void> {
  const named = [state.active, state.previous]
  const found = await callDatabase(() => db.listCollections({ name: ownCollection }, { nameOnly: true }).toArray())
  for (const { name } of found) if (!named.includes(name)) await dropCollection(db, name, state)
}

const ownCollection = new RegExp(`^${importJobsCollection}(_\\d+)?$`)

async function dropCollection(db: Db, collection: string, { active, alongside, previous }: ProjectionState) {
  if ([active, alongside, previous].includes(collection)) throw new Error(`${collection} is in use and is not dropped.`)
  // Drop positions first: documents without positions are folded again, but positions without documents skip events.
  await callDatabase(() => db.collection(positionsCollection).deleteMany({ collection }))
  await callDatabase(() => db.collection(collection).drop())
}
