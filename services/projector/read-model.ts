import type { ImportJobWriter } from '#shared/ports/import-jobs.ts'
import type { ProjectionFollower } from '#shared/ports/projections.ts'
import type { ReadModelStores } from '#shared/read-model/projector.ts'

type Deps = {
  readonly projections: ProjectionFollower
  readonly jobsIn: (collection: string) => ImportJobWriter
}

/** The records go into the collection that is read and then, while there is one, into the one beside it. */
export const readModelOf = ({ projections, jobsIn }: Deps): ReadModelStores => ({
  async current() {
    const { revision, active, alongside } = await projections.state()
    return { revision, stores: [active, ...(alongside === null ? [] : [alongside])].map(jobsIn) }
  },
  follows: (partition, revision) => projections.follows(partition, revision),
})
