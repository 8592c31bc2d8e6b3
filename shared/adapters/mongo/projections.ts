import type { Collection, Db, Filter } from 'mongodb'
import type { BeginOutcome, Building, ProjectionKeeper, ProjectionState } from '#shared/ports/projections.ts'
import { mapped } from './database-lost.ts'
import { importJobsCollection, positionsCollection } from './import-jobs.ts'

export const projectionsCollection = 'projections'

/** How long a holder that gives no sign of life keeps others away. */
export const buildingLeaseMs = 30_000

type StateDocument = ProjectionState & {
  readonly _id: string
  /** How many collections were ever begun: a name is never used again. */
  readonly begun: number
  readonly building: (Omit<Building, 'until'> & { readonly until: Date }) | null
}
type FollowerDocument = { readonly _id: string; readonly partition: number; readonly revision: number }

const stateId = importJobsCollection
const initial: Omit<StateDocument, '_id'> = {
  revision: 0,
  active: importJobsCollection,
  alongside: null,
  previous: null,
  begun: 1,
  building: null,
}

/** Which collections hold the read model, in the same database, so that a restored database knows its own. */
export function createMongoProjections({ db }: { readonly db: Db }): ProjectionKeeper {
  const states = db.collection<StateDocument>(projectionsCollection)
  const followers = db.collection<FollowerDocument>(projectionsCollection)
  const read = () => mapped(() => states.findOne({ _id: stateId }, { readConcern: 'majority' }))
  return {
    state: async () => stateOf((await read()) ?? initial),

    async follows(partition, revision) {
      const update = { $max: { revision }, $setOnInsert: { partition } }
      await mapped(() => followers.updateOne({ _id: `${stateId}/${partition}` }, update, { upsert: true }))
    },

    async followers(revision) {
      const found = followers.find({ partition: { $exists: true }, revision: { $gte: revision } })
      return (await mapped(() => found.toArray())).map(({ partition }) => partition)
    },

    async begin(holder, target, now) {
      await mapped(() => states.updateOne({ _id: stateId }, { $setOnInsert: initial }, { upsert: true }))
      return await begin(db, states, { holder, target, now })
    },

    async renew(holder, now) {
      const until = new Date(now + buildingLeaseMs)
      const { matchedCount } = await mapped(() =>
        states.updateOne(heldBy(holder), { $set: { 'building.until': until } }),
      )
      return matchedCount === 1
    },

    async change(holder, { active, alongside, previous }) {
      const update = { $set: { active, alongside, previous }, $inc: { revision: 1 } }
      const changed = await mapped(() => states.findOneAndUpdate(heldBy(holder), update, { returnDocument: 'after' }))
      return changed && stateOf(changed)
    },

    async end(holder) {
      await mapped(() => states.updateOne(heldBy(holder), { $set: { building: null } }))
    },

    async drop(collection) {
      await remove(db, collection, stateOf((await read()) ?? initial))
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

async function begin(db: Db, states: Collection<StateDocument>, request: Request): Promise<BeginOutcome> {
  const { holder, target, now } = request
  const found = await mapped(() => states.findOne({ _id: stateId }))
  if (found === null) throw new Error('The state of the projections vanished while it was read.')
  if (found.building !== null && found.building.until.getTime() > now) return taken(found.building)
  const begun = found.begun + (target === 'new' ? 1 : 0)
  const collection = target === 'new' ? `${importJobsCollection}_${begun}` : found.previous
  if (collection === null) return { is: 'no_previous' }
  const building = { holder, collection, until: new Date(now + buildingLeaseMs) }
  const changed = await mapped(() =>
    states.findOneAndUpdate(
      // Whoever began, renewed or changed anything meanwhile comes first.
      { _id: stateId, revision: found.revision, building: found.building },
      { $set: { building, begun, alongside: null }, $inc: { revision: 1 } },
      { returnDocument: 'after' },
    ),
  )
  if (changed === null) return begin(db, states, request)
  await removeRemains(db, stateOf(changed))
  return { is: 'yours', holder, collection, state: stateOf(changed) }
}

const taken = ({ holder, collection, until }: NonNullable<StateDocument['building']>): BeginOutcome => ({
  is: 'taken',
  by: { holder, collection, until: until.getTime() },
})

/** What holders that died had begun to build, or had not yet removed. */
async function removeRemains(db: Db, state: ProjectionState): Promise<void> {
  const named = [state.active, state.previous]
  const found = await mapped(() => db.listCollections({ name: ownCollection }, { nameOnly: true }).toArray())
  for (const { name } of found) if (!named.includes(name)) await remove(db, name, state)
}

const ownCollection = new RegExp(`^${importJobsCollection}(_\\d+)?$`)

async function remove(db: Db, collection: string, { active, alongside, previous }: ProjectionState): Promise<void> {
  if ([active, alongside, previous].includes(collection)) throw new Error(`${collection} is in use and is kept.`)
  // Positions first: documents without positions are built again, positions without documents would miss them.
  await mapped(() => db.collection(positionsCollection).deleteMany({ collection }))
  await mapped(() => db.collection(collection).drop())
}
