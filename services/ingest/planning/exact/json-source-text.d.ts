/** JSON.parse source text access (ECMAScript 2026; in Node since 21), which the compiler's library does not know yet. */
interface JSON {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
