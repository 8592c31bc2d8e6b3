import { Parser } from '@asyncapi/parser'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { beforeAll, describe, expect, test } from 'vitest'
import { generatedDocuments } from '#infra/tooling/generate/documents.ts'
import { isObject, type Json, type JsonObject } from '#infra/tooling/generate/named-schemas.ts'
import { errorCodes } from '#schemas/errors.ts'
import { type Topic, topics } from '#schemas/events/catalogue.ts'
import type { EventType } from '#schemas/events/event-type.ts'
import { headersOf } from '#schemas/events/headers.ts'
import { contractList } from '#schemas/http/contracts.ts'
import { variables } from '#shared/config/variables.ts'

let documents: ReadonlyMap<string, string>
beforeAll(async () => {
  documents = await generatedDocuments()
})

const textOf = (path: string): string => documents.get(path) ?? ''

function* objectsIn(value: Json): Generator<JsonObject> {
  if (Array.isArray(value)) for (const inner of value) yield* objectsIn(inner)
  if (!isObject(value)) return
  yield value
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

const at = (document: Json, pointer: string): Json | undefined =>
  pointer
    .slice(2)
    .split('/')
    .reduce<Json | undefined>(
      (value, name) => (isObject(value) ? value[name.replaceAll('~1', '/')] : undefined),
      document,
    )

const validator = () => {
  const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true })
  formats.default(ajv)
  return ajv
}

test('generation is deterministic, and each document ends with a newline', async () => {
  expect(await generatedDocuments()).toEqual(documents)
  for (const [path, content] of documents) expect(content.endsWith('\n'), path).toBe(true)
})

describe('openapi.json', () => {
  const openapi = (): JsonObject => JSON.parse(textOf('openapi.json'))

  test('every reference has a target', () => {
    const references = [...objectsIn(openapi())].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []))
    expect(references.length).toBeGreaterThan(10)
    expect(references.filter((reference) => at(openapi(), reference) === undefined)).toEqual([])
  })

  test('every example matches the schema of its media type', () => {
    const ajv = validator().addVocabulary(['components'])
    ajv.addSchema({ $id: 'document', components: openapi().components }, 'document', undefined, false)
    const media = [...objectsIn(openapi())].filter(({ schema, examples }) => isObject(schema) && isObject(examples))
    expect(media.length).toBeGreaterThan(contractList.length)
    for (const { schema, examples } of media) {
      const reference = isObject(schema) && typeof schema.$ref === 'string' ? schema.$ref : ''
      const validate = ajv.compile({ $ref: `document${reference}` })
      for (const example of isObject(examples) ? Object.values(examples) : []) {
        validate(isObject(example) ? example.value : null)
        expect(validate.errors, JSON.stringify(example)).toBeNull()
      }
    }
  })

  test('the version is 3.1 and the paths are exactly those of the contracts', () => {
    expect(openapi().openapi).toMatch(/^3\.1\.\d$/)
    const paths = isObject(openapi().paths) ? openapi().paths : {}
    const described = Object.entries(paths ?? {}).flatMap(([path, methods]) =>
      Object.keys(methods ?? {}).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described).toEqual(
      contractList.map(({ method, url }) => `${method} ${url.replaceAll(/:([a-z_]+)/g, '{$1}')}`),
    )
  })
})

describe('asyncapi.json', () => {
  test('the AsyncAPI parser reports no error', async () => {
    const { document, diagnostics } = await new Parser().parse(textOf('asyncapi.json'))
    expect(diagnostics.filter(({ severity }) => severity <= 1)).toEqual([])
    const addresses = document
      ?.allChannels()
      .all()
      .map((channel) => channel.address())
    expect(addresses?.toSorted()).toEqual(
      Object.values(topics)
        .map(({ name }) => name)
        .toSorted(),
    )
  })

  test('the AsyncAPI parser reports a misspelt keyword', async () => {
    const { diagnostics } = await new Parser().parse(textOf('asyncapi.json').replaceAll('"address"', '"adress"'))
    expect(diagnostics.filter(({ severity }) => severity <= 1)).not.toEqual([])
  })

  test('only topics and messages with contacts have x-personal-data true', () => {
    const marked = [...objectsIn(JSON.parse(textOf('asyncapi.json')))]
      .filter((object) => object['x-personal-data'] === true && typeof object.title === 'string')
      .map(({ title }) => title)
    expect(marked).toEqual([
      topics.imports.name,
      topics.deadLetters.name,
      'ChunkPlanned, version 1',
      'A record that could not be decoded',
    ])
  })

  test('every member has x-personal-data, which is true only for contacts and their members', () => {
    const document: JsonObject = JSON.parse(textOf('asyncapi.json'))
    const members = [...objectsIn(document)].flatMap(({ properties }) =>
      isObject(properties) ? Object.entries(properties) : [],
    )
    expect(members.length).toBeGreaterThan(100)
    for (const [name, member] of members) expect(member, name).toHaveProperty('x-personal-data')
    const about = members.filter(([, member]) => isObject(member) && member['x-personal-data'] === true)
    expect(about.map(([name]) => name).toSorted()).toEqual(['additional_fields', 'contacts', 'phone', 'tags'])
  })

  test('every topic has its key, partitions, retention, delivery guarantee and access', () => {
    for (const [alias, topic] of Object.entries(topics)) {
      expect(at(JSON.parse(textOf('asyncapi.json')), `#/channels/${alias}`)).toMatchObject({
        address: topic.name,
        'x-key': 'job_id',
        'x-access': topic.access,
        'x-retention': 'unlimited',
        'x-delivery': { guarantee: 'at least once', deduplicateBy: 'ce_id' },
        bindings: { kafka: { partitions: topic.partitions } },
      })
    }
  })
})

describe('JSON Schemas', () => {
  test('every schema compiles in strict mode without other files', () => {
    const paths = [...documents.keys()].filter((path) => path.endsWith('.schema.json'))
    expect(paths.length).toBe(1 + 2 * Object.values(topics).flatMap((topic: Topic) => [...topic.events]).length)
    for (const path of paths) expect(() => validator().compile(JSON.parse(textOf(path))), path).not.toThrow()
  })
})

describe('errors.md', () => {
  test.each(errorCodes)('%s has a section with both languages', (code) => {
    const [, section = ''] = textOf('errors.md').split(`\n## ${code}\n`)
    expect(section).toMatch(/^\n+Status \d{3}\..*\n+\|[^\n]+\n\|[^\n]+\n\| en \|[^\n]+\n\| ru \|/)
  })
})

describe('events.md', () => {
  test.each(Object.values<Topic>(topics).map(({ name }) => name))('%s has a section', (name) => {
    expect(textOf('events.md')).toContain(`\n## ${name}\n`)
  })

  test.each(Object.values<Topic>(topics).flatMap(({ events }) => events.map((event: EventType) => event)))(
    'the section of $type has every member, every header and a sample',
    (event) => {
      const [, section = ''] = textOf('events.md').split(`\n## ${event.type}\n`)
      const [own = ''] = section.split('\n## ')
      const names = [...Object.keys(event.data.properties), ...Object.keys(headersOf(event).properties)]
      for (const name of names) expect(own).toContain(`\n| \`${name}\` |`)
      expect(own).toContain('```json')
    },
  )
})

describe('config.md', () => {
  test.each([
    ['MAX_CONTACTS', 'ingest'],
    ['IDEMPOTENCY_LEASE_SECONDS', 'ingest, dispatcher'],
    ['LOG_LEVEL', 'ingest, dispatcher, projector, query'],
  ])('the row of %s names the services %s', (name, services) => {
    expect(textOf('config.md')).toMatch(new RegExp(`\\n\\| \`${name}\` \\|.* \\| ${services} \\|\\n`))
  })

  test.each(Object.entries(variables))('%s has a row with its default', (name, schema) => {
    const row = textOf('config.md')
      .split('\n')
      .find((line) => line.startsWith(`| \`${name}\` |`))
    expect(row).toContain(schema.description)
    expect(row).toContain(
      schema.default === undefined ? 'none; ' : schema.default === '' ? 'empty' : `\`${schema.default}\``,
    )
  })
})
