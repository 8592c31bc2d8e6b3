import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { ImportJobReader, ImportJobWriter, JobChange } from '#shared/ports/import-jobs.ts'

type Jobs = ImportJobWriter & ImportJobReader

export function jobDocument(imports: number, deliveries = -1, _id: string = randomUUID()): ImportJobDocument {
  const at = '2026-01-31T09:30:00.000Z'
  return {
    _id,
    applied: { imports, deliveries },
    client_id: 'client',
    correlation_id: '7f1c1b0e-0d4e-4a53-9a55-4f8f0c2f6a10',
    status: 'pending',
    total_contacts: 2,
    valid_contacts: 1,
    invalid_contacts: 1,
    sent_contacts: 0,
    failed_contacts: 0,
    chunks_total: 1,
    chunks_completed: 0,
    chunks_failed: 0,
    chunks_pending: 1,
    chunks: [
      {
        chunk_index: 0,
        status: 'pending',
        size: 1,
        attempt_count: 0,
        last_attempt_at: null,
        next_attempt_at: null,
        sent_at: null,
        response_status_code: null,
        error_message: null,
      },
    ],
    early: [],
    created_at: at,
    updated_at: at,
    completed_at: null,
    error_message: null,
  }
}

const created = (document: ImportJobDocument): JobChange => ({ document, foldedFrom: null })

export function importJobsContract(open: () => Jobs): void {
  documents(open)
  conflicts(open)
  reading(open)
}

function documents(open: () => Jobs) {
  test('a saved document is read back byte for byte', async () => {
    const jobs = open()
    const document = jobDocument(2 ** 53 - 1, 2 ** 40)
    expect(await jobs.save([created(document)])).toEqual([])
    expect(JSON.stringify(await jobs.find(document._id))).toBe(JSON.stringify(document))
    expect(JSON.stringify([...(await jobs.load([document._id]))])).toBe(JSON.stringify([[document._id, document]]))
  })

  test('find returns null for an unknown job, and load omits it', async () => {
    const jobs = open()
    const known = jobDocument(1)
    await jobs.save([created(known)])
    expect(await jobs.find(randomUUID())).toBeNull()
    expect([...(await jobs.load([randomUUID(), known._id])).keys()]).toEqual([known._id])
    expect((await jobs.load([])).size).toBe(0)
  })

  test('save replaces the document that the new one was folded from', async () => {
    const jobs = open()
    const first = jobDocument(7, 2 ** 33)
    await jobs.save([created(first)])
    const second: ImportJobDocument = { ...first, applied: { imports: 7, deliveries: 2 ** 33 + 1 }, chunks: [] }
    expect(await jobs.save([{ document: second, foldedFrom: first.applied }])).toEqual([])
    expect(await jobs.find(first._id)).toEqual(second)
  })

  test('save inserts a document whose stored version was deleted', async () => {
    const jobs = open()
    const document = jobDocument(9, 4)
    expect(await jobs.save([{ document, foldedFrom: { imports: 8, deliveries: 4 } }])).toEqual([])
    expect(await jobs.find(document._id)).toEqual(document)
  })

  test('changing a document after save or find does not change the stored one', async () => {
    const jobs = open()
    const document = jobDocument(1)
    await jobs.save([created(document)])
    document.status = 'failed'
    const found = await jobs.find(document._id)
    expect(found?.status).toBe('pending')
    found?.chunks.pop()
    expect((await jobs.find(document._id))?.chunks).toHaveLength(1)
  })
}

function conflicts(open: () => Jobs) {
  test.each([
    ['imports', { imports: 4, deliveries: 5 }],
    ['deliveries', { imports: 5, deliveries: 4 }],
  ])('save rejects a document folded from other offsets of %s, and writes the others', async (_topic, foldedFrom) => {
    const jobs = open()
    const stored = jobDocument(5, 5)
    await jobs.save([created(stored)])
    const stale = { document: jobDocument(6, 6, stored._id), foldedFrom }
    const before = jobDocument(1)
    const after = jobDocument(1)
    expect(await jobs.save([created(before), stale, created(after)])).toEqual([stored._id])
    expect(await jobs.find(stored._id)).toEqual(stored)
    expect((await jobs.load([before._id, after._id])).size).toBe(2)
  })

  test('save rejects a new document when one is stored', async () => {
    const jobs = open()
    const stored = jobDocument(5)
    await jobs.save([created(stored)])
    expect(await jobs.save([created(jobDocument(6, -1, stored._id))])).toEqual([stored._id])
    expect(await jobs.find(stored._id)).toEqual(stored)
  })

  test('exactly one of 50 concurrent changes from the same offsets is written', async () => {
    const jobs = open()
    const stored = jobDocument(0)
    await jobs.save([created(stored)])
    const changes = Array.from({ length: 50 }, (_, index) => ({
      document: jobDocument(index + 1, -1, stored._id),
      foldedFrom: stored.applied,
    }))
    const refused = await Promise.all(changes.map((change) => jobs.save([change])))
    const winners = changes.filter((_, index) => refused[index]?.length === 0)
    expect(winners).toHaveLength(1)
    expect(await jobs.find(stored._id)).toEqual(winners[0]?.document)
  })

  test('save of a large batch returns exactly the conflicting documents', async () => {
    const jobs = open()
    const batch = Array.from({ length: 2_500 }, () => jobDocument(1))
    const taken = batch.filter((_, index) => index % 500 === 7)
    await jobs.save(taken.map((document) => created(jobDocument(3, -1, document._id))))
    const refused = await jobs.save(batch.map(created))
    expect([...refused].sort()).toEqual(taken.map(({ _id }) => _id).sort())
    expect((await jobs.load(batch.map(({ _id }) => _id))).size).toBe(batch.length)
  })
}

const placeOf = ({ created_at, _id }: Pick<ImportJobDocument, 'created_at' | '_id'>) => ({
  createdAt: created_at ?? '',
  jobId: _id,
})
const all = { clientId: 'client', status: null, createdAfter: null, after: null, limit: 100 }
const at = (ms: number) => new Date(Date.parse('2026-01-31T09:30:00.000Z') + ms).toISOString()

/** Saves and returns nine jobs of the client, three per millisecond. Also saves two jobs that must not be listed. */
async function saveNine(jobs: Jobs) {
  const own = Array.from({ length: 9 }, (_, index) => {
    const status = index % 2 === 0 ? 'completed' : 'pending'
    return { ...jobDocument(index), status, created_at: at(Math.floor(index / 3)) } satisfies ImportJobDocument
  })
  const foreign = { ...jobDocument(1), client_id: 'another' }
  const withoutImport = { ...jobDocument(-1, 4), client_id: null, created_at: null }
  await jobs.save([...own, foreign, withoutImport].map(created))
  return own.toSorted((a, b) => (`${a.created_at}${a._id}` < `${b.created_at}${b._id}` ? 1 : -1))
}

function reading(open: () => Jobs) {
  test('the jobs of a client are listed newest first, without their chunks', async () => {
    const jobs = open()
    const own = await saveNine(jobs)
    const listed = await jobs.list(all)
    expect(listed).toEqual(own.map(({ chunks: _, early: __, ...summary }) => summary))
    expect(await jobs.list({ ...all, clientId: 'nobody' })).toEqual([])
  })

  test('pages of any size list each job once, in the same order', async () => {
    const jobs = open()
    const own = await saveNine(jobs)
    for (const limit of [1, 2, 4, 9, 10]) {
      const pages: string[] = []
      let after: ReturnType<typeof placeOf> | null = null
      for (;;) {
        const page: Awaited<ReturnType<Jobs['list']>> = await jobs.list({ ...all, limit, after })
        pages.push(...page.map(({ _id }) => _id))
        const last = page.at(-1)
        if (last === undefined || page.length < limit) break
        after = placeOf(last)
      }
      expect(pages).toEqual(own.map(({ _id }) => _id))
    }
  })

  test('a status and a creation time filter the listing', async () => {
    const jobs = open()
    const own = await saveNine(jobs)
    const idsOf = (list: readonly { _id: string }[]) => list.map(({ _id }) => _id)
    const completed = own.filter(({ status }) => status === 'completed')
    expect(idsOf(await jobs.list({ ...all, status: 'completed' }))).toEqual(idsOf(completed))
    const later = own.filter(({ created_at }) => created_at > at(0))
    expect(idsOf(await jobs.list({ ...all, createdAfter: at(0) }))).toEqual(idsOf(later))
    const [first, ...rest] = later.filter(({ status }) => status === 'pending')
    const after = first === undefined ? null : placeOf(first)
    expect(idsOf(await jobs.list({ ...all, status: 'pending', createdAfter: at(0), after }))).toEqual(idsOf(rest))
  })

  test('applied returns the offsets of the documents that exist', async () => {
    const jobs = open()
    const known = jobDocument(3, 2 ** 40)
    await jobs.save([created(known)])
    expect([...(await jobs.applied([known._id, randomUUID()]))]).toEqual([[known._id, known.applied]])
    expect((await jobs.applied([])).size).toBe(0)
  })
}
