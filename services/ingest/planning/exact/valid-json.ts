import {
  byte,
  byteAt,
  newScanner,
  type Scanner,
  skipScalar,
  skipSpace,
  skipString,
  unsupported,
} from '../fast/scan-json.ts'

/** True for one JSON text (RFC 8259) of any depth. Needs one byte per open level and no memory per value. */
export function isJson(json: Buffer): boolean {
  const scanner = newScanner(json)
  const levels = newLevels()
  let at = skipSpace(scanner, 0)
  while (at !== unsupported) {
    at = skipSpace(scanner, at)
    const kind = byteAt(scanner, at)
    if (kind === byte.openBrace || kind === byte.openBracket) {
      const inner = skipSpace(scanner, at + 1)
      if (byteAt(scanner, inner) !== closing(kind)) {
        levels.open(kind)
        at = kind === byte.openBrace ? skipNameAndColon(scanner, inner) : inner
        continue
      }
      at = inner + 1
    } else {
      at = skipScalar(scanner, at)
    }
    at = at === unsupported ? unsupported : skipAfterValue(scanner, at, levels)
    if (at !== unsupported && levels.depth() === 0) return skipSpace(scanner, at) === json.length
  }
  return false
}

/** Returns the start of the next value; at the end of the outermost value, its end. */
function skipAfterValue(scanner: Scanner, valueEnd: number, levels: Levels): number {
  let at = valueEnd
  while (levels.depth() > 0) {
    at = skipSpace(scanner, at)
    const kind = levels.innermost()
    if (byteAt(scanner, at) === byte.comma) {
      const next = skipSpace(scanner, at + 1)
      return kind === byte.openBrace ? skipNameAndColon(scanner, next) : next
    }
    if (byteAt(scanner, at) !== closing(kind)) return unsupported
    levels.close()
    at += 1
  }
  return at
}

function skipNameAndColon(scanner: Scanner, start: number): number {
  const nameEnd = skipString(scanner, start)
  if (nameEnd === unsupported) return unsupported
  const colon = skipSpace(scanner, nameEnd)
  return byteAt(scanner, colon) === byte.colon ? colon + 1 : unsupported
}

const closing = (open: number): number => (open === byte.openBrace ? byte.closeBrace : byte.closeBracket)

type Levels = ReturnType<typeof newLevels>

/** The opening bytes of all open arrays and objects. Not recursive, because the depth of a body has no limit. */
function newLevels() {
  let kinds = new Uint8Array(64)
  let depth = 0
  return {
    depth: () => depth,
    innermost: (): number => kinds[depth - 1] ?? 0,
    open(kind: number): void {
      if (depth === kinds.length) {
        const larger = new Uint8Array(kinds.length * 4)
        larger.set(kinds)
        kinds = larger
      }
      kinds[depth] = kind
      depth += 1
    },
    close(): void {
      depth -= 1
    },
  }
}
