import Negotiator from 'negotiator'
import { type Language, languages } from '#schemas/errors.ts'

/** One language range of Accept-Language (RFC 9110 §12.5.4). Groups: the primary subtag, and the optional weight. */
const languageRange = /^([a-z]{1,8}|\*)(?:-[a-z0-9]{1,8})*\s*(;\s*q\s*=\s*(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/** Further ranges are ignored: a header may have thousands, and unauthenticated clients send it, too. */
const maxRanges = 50

/**
 * Selects the supported language with the highest weight; for equal weights, the first. Ignores regions (`ru-RU` is `ru`)
 * and malformed ranges. Returns `fallback` if no supported language is acceptable.
 */
export function negotiateLanguage(header: string | undefined, fallback: Language): Language {
  const ranges = (header ?? '*').split(',', maxRanges).flatMap((text) => {
    const [, primary, weight = ''] = languageRange.exec(text.trim()) ?? []
    return primary === undefined ? [] : [primary + weight]
  })
  const offered = [fallback, ...languages.filter((language) => language !== fallback)]
  const chosen = new Negotiator({ headers: { 'accept-language': ranges.join() } }).language(offered)
  return offered.find((language) => language === chosen) ?? fallback
}
