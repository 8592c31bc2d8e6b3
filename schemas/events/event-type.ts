import type { Static, TSchema } from '@sinclair/typebox'

export type EventType<Name extends string = string, Data extends TSchema = TSchema> = {
  readonly type: Name
  readonly version: number
  readonly dataschema: string
  readonly data: Data
}

export const defineEvent = <Name extends string, Data extends TSchema>(event: {
  type: Name
  version: number
  data: Data
}): EventType<Name, Data> => ({ ...event, dataschema: `urn:contact-import:events:${event.type}:${event.version}` })

/** The type of an event without its headers. */
export type EventOf<E> =
  E extends EventType<infer Name, infer Data> ? { readonly type: Name; readonly data: Static<Data> } : never
