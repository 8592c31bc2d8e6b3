import { createRequire } from 'node:module'

const replaced = new WeakSet<NodeJS.Module>()

/**
 * Replaces what a file of kafkajs exports, for every file that loads it afterwards; kafkajs loads its protocol with the
 * first request of each kind. Repeating it changes nothing. `path` is below kafkajs's `src`, without an ending.
 */
export function replaceModule<T>(path: string, replacement: (stock: T) => T): void {
  const load = createRequire(import.meta.url)
  const file = load.resolve(`kafkajs/src/${path}`)
  const stock = load(file) as T
  const module = load.cache[file]
  if (module === undefined || replaced.has(module)) return
  replaced.add(module)
  module.exports = replacement(stock)
}
