import { describe } from 'vitest'
import { foldPositionsContract } from '#test/contract/fold-positions.ts'
import { importJobsContract } from '#test/contract/import-jobs.ts'
import { createMemoryImportJobs } from '#test/twins/import-jobs.ts'

describe('import jobs in memory', () => {
  importJobsContract(createMemoryImportJobs)
  foldPositionsContract(createMemoryImportJobs)
})
