/** Refusals of a record batch for its size (Kafka protocol error codes 10 and 18). */
const tooLarge = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])

/** Whether a kafkajs error, or one it wraps, says that the broker took none of a batch because of its size. */
export function isTooLarge(error: unknown): boolean {
  return causes(error).some((one) => 'type' in one && typeof one.type === 'string' && tooLarge.has(one.type))
}

/** Whether a kafkajs error, or one it wraps, is this error of the Kafka protocol. */
export function isProtocolError(error: unknown, type: string): boolean {
  return causes(error).some((one) => 'type' in one && one.type === type)
}

/** kafkajs wraps what it gave up on; the chain is short, and bounded here against a circle. */
function causes(error: unknown): Error[] {
  const chain: Error[] = []
  for (let one = error; one instanceof Error && chain.length < 10; one = one.cause) chain.push(one)
  return chain
}
