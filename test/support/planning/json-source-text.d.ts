/** JSON.parse source text access (ECMAScript 2026, Node 21). TypeScript's library does not declare it yet. */
interface JSON {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
