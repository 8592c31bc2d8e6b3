import { type Language, languages } from '#schemas/errors.ts'

type Range = { readonly tag: string; readonly quality: number; readonly position: number }

/**
 * The language for a reader who sent this Accept-Language (RFC 9110 §12.5.4, basic filtering of RFC 4647 §3.3.1):
 * the highest quality wins, then the earlier range; `fallback` when nothing acceptable is offered.
 */
export function negotiateLanguage(header: string | undefined, fallback: Language): Language {
  const ranges = (header ?? '').split(',').flatMap(parseRange)
  const ranked = languages
    .flatMap((language) => {
      const range = bestRange(ranges, language)
      return range && range.quality > 0 ? [{ language, ...range }] : []
    })
    .sort(
      (a, b) =>
        b.quality - a.quality ||
        a.position - b.position ||
        Number(b.language === fallback) - Number(a.language === fallback),
    )
  return ranked[0]?.language ?? fallback
}

function parseRange(text: string, position: number): Range[] {
  const match = /^\s*([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(text)
  const quality = Number(match?.[2] ?? 1)
  return match?.[1] && quality <= 1 ? [{ tag: match[1].toLowerCase(), quality, position }] : []
}

/** `ru-RU` speaks for `ru` here: there is no regional variant to tell apart. `*` speaks for what is named nowhere. */
function bestRange(ranges: readonly Range[], language: Language): Range | undefined {
  const named = ranges.filter(({ tag }) => tag === language || tag.startsWith(`${language}-`))
  const best = named.sort((a, b) => b.quality - a.quality || a.position - b.position)[0]
  return best ?? ranges.find(({ tag }) => tag === '*')
}
