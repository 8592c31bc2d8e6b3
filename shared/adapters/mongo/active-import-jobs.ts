import type { Db } from 'mongodb'
import type { ImportJobReader } from '#shared/ports/import-jobs.ts'
import { createMongoImportJobs } from './import-jobs.ts'
import { createMongoProjections } from './projections.ts'

/** Must be shorter than the time for which the projector updates the former collection after a switch. */
const maxAgeMs = 1_000

type Options = { readonly db: Db; readonly now?: () => number }

/** Reads the active collection of the read model. Follows a switch within one second. */
export function createActiveImportJobs({ db, now = () => performance.now() }: Options): ImportJobReader {
  const projections = createMongoProjections({ db })
  let known: { readonly at: number; readonly active: string; readonly jobs: ImportJobReader } | null = null
  let loading: Promise<ImportJobReader> | null = null

  async function load(): Promise<ImportJobReader> {
    const at = now()
    const { active } = await projections.state()
    const jobs = known?.active === active ? known.jobs : createMongoImportJobs({ db, collection: active })
    known = { at, active, jobs }
    return jobs
  }

  async function current(): Promise<ImportJobReader> {
    if (known !== null && now() - known.at < maxAgeMs) return known.jobs
    loading ??= load().finally(() => {
      loading = null
    })
    return await loading
  }

  return {
    find: async (jobId) => (await current()).find(jobId),
    list: async (listing) => (await current()).list(listing),
    applied: async (jobIds) => (await current()).applied(jobIds),
  }
}
