import { aclReference } from './acl-reference.ts'
import { asyncapiDocument } from './asyncapi.ts'
import { configReference } from './config-reference.ts'
import { errorReference } from './error-reference.ts'
import { eventReference } from './event-reference.ts'
import { jsonSchemas } from './json-schemas.ts'
import { notice } from './markdown.ts'
import { openapiDocument } from './openapi.ts'

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
const text = (markdown: string): string => `${notice}\n\n${markdown}\n`

/** Every generated document by path. Deterministic: the same schemas give the same bytes. */
export async function generatedDocuments(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['openapi.json', json(await openapiDocument())],
    ['asyncapi.json', json(asyncapiDocument())],
    ...[...jsonSchemas()].map(([path, schema]): [string, string] => [path, json(schema)]),
    ['config.md', text(configReference())],
    ['kafka-acls.md', text(aclReference())],
    ['events.md', text(eventReference())],
    ['errors.md', text(errorReference())],
  ])
}
