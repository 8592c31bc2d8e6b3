/** True when the error, or one of its causes, has this Kafka protocol error in its kafkajs `type`. */
export function isProtocolError(error: unknown, type: string): boolean {
  return causesOf(error).some((one) => 'type' in one && one.type === type)
}

/** True when the error, or one of its causes, is a kafkajs error with one of these names or protocol error types. */
export function isAnyOf(error: unknown, names: ReadonlySet<string>): boolean {
  return causesOf(error).some((one) => names.has(one.name) || ('type' in one && names.has(String(one.type))))
}

/** kafkajs wraps the last error of its retries. The limit protects against a cycle. */
function causesOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let one = error; one instanceof Error && chain.length < 10; one = one.cause) chain.push(one)
  return chain
}
