import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { topics } from '#schemas/events/catalogue.ts'
import type { ImportJobDocument } from '#schemas/read-models/import-job.ts'
import type { FoldPositions, ImportJobReader, ImportJobWriter, JobChange } from '#shared/ports/import-jobs.ts'

type Jobs = ImportJobWriter & FoldPositions & ImportJobReader

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

const imports = (partition: number) => ({ topic: topics.imports.name, partition })
const deliveries = (partition: number) => ({ topic: topics.deliveries.name, partition })

export function importJobsContract(open: () => Jobs): void {
  documents(open)
  conflicts(open)
  positions(open)
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

function positions(open: () => Jobs) {
  test('a partition has no position before the first advance', async () => {
    const jobs = open()
    expect(await jobs.advance([])).toBe(true)
    expect(await jobs.positions([imports(0), deliveries(11)])).toEqual([])
  })

  test('positions are stored per topic and partition', async () => {
    const jobs = open()
    const reached = [
      { ...imports(1), to: 10 },
      { ...deliveries(1), to: 2 ** 40 },
      { ...deliveries(11), to: 0 },
    ]
    expect(await jobs.advance(reached.map((one) => ({ ...one, from: null })))).toBe(true)
    const found = await jobs.positions([imports(1), deliveries(1), deliveries(11), imports(11)])
    expect(found).toHaveLength(3)
    expect(found).toEqual(expect.arrayContaining(reached.map(({ to: offset, ...place }) => ({ ...place, offset }))))
  })

  test('advance moves a position forward, never back', async () => {
    const jobs = open()
    await jobs.advance([{ ...imports(3), from: null, to: 10 }])
    expect(await jobs.advance([{ ...imports(3), from: 10, to: 12 }])).toBe(true)
    expect(await jobs.advance([{ ...imports(3), from: 10, to: 11 }])).toBe(true)
    expect(await jobs.advance([{ ...imports(3), from: null, to: 5 }])).toBe(true)
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 12 }])
  })

  test('a position that is missing or below its expected value blocks only its partition number', async () => {
    const jobs = open()
    const places = [imports(3), deliveries(3), imports(4), deliveries(4)]
    await jobs.advance(places.map((place) => ({ ...place, from: null, to: 10 })))
    const tooFar = { ...imports(3), from: 11, to: 12 }
    const others = [deliveries(3), imports(4), deliveries(4)].map((place) => ({ ...place, from: 10, to: 15 }))
    expect(await jobs.advance([tooFar, ...others])).toBe(false)
    expect(await jobs.advance([{ ...imports(5), from: 1, to: 2 }])).toBe(false)
    expect(await jobs.positions([...places, imports(5)])).toEqual([
      { ...imports(3), offset: 10 },
      { ...deliveries(3), offset: 10 },
      { ...imports(4), offset: 15 },
      { ...deliveries(4), offset: 15 },
    ])
  })

  test('a position is returned with the record below it, unless the last writer gave no record', async () => {
    const jobs = open()
    const before = { offset: 9, appendedAt: 1_769_851_800_000 }
    await jobs.advance([{ ...imports(3), from: null, to: 10, before }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 10, before }])
    const earlier = { offset: 7, appendedAt: 1_769_851_900_000 }
    await jobs.advance([{ ...imports(3), from: null, to: 8, before: earlier }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 10, before }])
    await jobs.advance([{ ...imports(3), from: 10, to: 2 ** 44 + 5 }])
    expect(await jobs.positions([imports(3)])).toEqual([{ ...imports(3), offset: 2 ** 44 + 5 }])
  })

  test('advance stores the position of a second topic', async () => {
    const jobs = open()
    await jobs.advance([{ ...imports(3), from: null, to: 10 }])
    const both = [
      { ...imports(3), from: 10, to: 11 },
      { ...deliveries(3), from: null, to: 4 },
    ]
    expect(await jobs.advance(both)).toBe(true)
    expect(await jobs.positions([imports(3), deliveries(3)])).toEqual([
      { ...imports(3), offset: 11 },
      { ...deliveries(3), offset: 4 },
    ])
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
