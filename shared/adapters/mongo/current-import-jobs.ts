import type { Db } from 'mongodb'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import { createMongoImportJobs } from './import-jobs.ts'
import { createMongoProjections } from './projections.ts'

/** What was read before is kept up to date for longer than this after a switch. */
const maxAgeMs = 1_000

type Options = { readonly db: Db; readonly now?: () => number }

/** The read model in the collection that is read now; a switch is followed within a second. */
export function createCurrentImportJobs({ db, now = () => performance.now() }: Options): ImportJobReader {
  const projections = createMongoProjections({ db })
  let known: { readonly at: number; readonly active: string; readonly jobs: ImportJobReader } | null = null
  let asking: Promise<ImportJobReader> | null = null

  async function ask(): Promise<ImportJobReader> {
    const at = now()
    const { active } = await projections.state()
    const jobs = known?.active === active ? known.jobs : createMongoImportJobs({ db, collection: active })
    known = { at, active, jobs }
    return jobs
  }

  async function current(): Promise<ImportJobReader> {
    if (known !== null && now() - known.at < maxAgeMs) return known.jobs
    asking ??= ask().finally(() => {
      asking = null
    })
    return await asking
  }

  return {
    find: async (jobId) => (await current()).find(jobId),
    list: async (listing) => (await current()).list(listing),
    applied: async (jobIds) => (await current()).applied(jobIds),
  }
}
