const replacements = new WeakSet<object>()

/** Replaces a method of kafkajs. `replacementFor` gets the stock method. Idempotent. */
export function replaceMethod<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  replacementFor: (stock: Owner[Name] & object) => Owner[Name] & object,
): void {
  const stock = owner[name]
  if (typeof stock !== 'function' || replacements.has(stock)) return
  const replacement = replacementFor(stock)
  replacements.add(replacement)
  owner[name] = replacement
}
