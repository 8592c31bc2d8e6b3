import { readFileSync } from 'node:fs'
import type { EventType } from '#schemas/events/event-type.ts'
import { versionedName } from './event-schemas.ts'
import { isObject, type Json } from './named-schemas.ts'

/** One record of a released event as the service writes it. */
export type Sample = {
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  /** The value, which is JSON in UTF-8. */
  readonly value: string
}

const folder = new URL('../../../schemas/released/events/', import.meta.url)

/** The sample of an event version. Throws when there is none: every released version has one. */
export function sampleOf(event: EventType): Sample {
  const file = `${versionedName(event)}.sample.json`
  const sample: Json = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
  const { key, headers, value } = isObject(sample) ? sample : {}
  if (typeof key !== 'string' || typeof value !== 'string' || !isObject(headers)) {
    throw new Error(`schemas/released/events/${file} is no record.`)
  }
  const texts = Object.entries(headers).map(([name, text]): [string, string] => [name, String(text)])
  return { key, headers: Object.fromEntries(texts), value }
}
