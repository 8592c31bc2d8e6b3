/** Messages that differ are counted separately. Their number is small: kafkajs messages vary at most by an address. */
const mostMessages = 500

export type LogFilter = {
  /** Returns how often the message was suppressed since it was last logged, or null to suppress it again. */
  admit(message: string): number | null
}

/** Admits each message once per `everyMs`: kafkajs logs every failed request, up to hundreds of lines per second. */
export function createLogFilter(everyMs: number, now: () => number = () => performance.now()): LogFilter {
  const logged = new Map<string, { readonly at: number; readonly suppressed: number }>()
  return {
    admit(message) {
      const last = logged.get(message)
      if (last !== undefined && now() - last.at < everyMs) {
        logged.set(message, { ...last, suppressed: last.suppressed + 1 })
        return null
      }
      if (logged.size >= mostMessages) logged.clear()
      logged.set(message, { at: now(), suppressed: 0 })
      return last?.suppressed ?? 0
    },
  }
}
