import { setTimeout as delay } from 'node:timers/promises'

/** Repeats an assertion until it passes and returns its result. After `withinMs`, throws the last failure. */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  { withinMs = 30_000, everyMs = 50 }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const deadline = Date.now() + withinMs
  for (;;) {
    try {
      return await assertion()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await delay(everyMs)
  }
}
