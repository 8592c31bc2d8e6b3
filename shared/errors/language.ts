import Negotiator from 'negotiator'
import { type Language, languages } from '#schemas/errors.ts'

/** One language range of Accept-Language (RFC 9110 §12.5.4): its primary subtag, and its weight if it has one. */
const languageRange = /^\s*([a-z]{1,8}|\*)(?:-[a-z0-9]{1,8})*\s*(;\s*q\s*=\s*(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?\s*$/i

/**
 * Chooses the language of the answer: the acceptable one with the highest weight, then the one named first. A region is
 * ignored (`ru-RU` asks for `ru`), and so is a malformed range. Returns `fallback` when no language is acceptable.
 */
export function negotiateLanguage(header: string | undefined, fallback: Language): Language {
  const ranges = (header ?? '*').split(',').flatMap((text) => {
    const [, primary, weight = ''] = languageRange.exec(text) ?? []
    return primary === undefined ? [] : [primary + weight]
  })
  const offered = [fallback, ...languages.filter((language) => language !== fallback)]
  const chosen = new Negotiator({ headers: { 'accept-language': ranges.join() } }).language(offered)
  return offered.find((language) => language === chosen) ?? fallback
}
