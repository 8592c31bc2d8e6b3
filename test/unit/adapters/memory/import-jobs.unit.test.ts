import { describe } from 'vitest'
import { createMemoryImportJobs } from '#shared/adapters/memory/import-jobs.ts'
import { importJobsContract } from '#test/contract/import-jobs.ts'

describe('import jobs in memory', () => importJobsContract(createMemoryImportJobs))
