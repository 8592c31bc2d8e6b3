import { describe, expect, test } from 'vitest'
import { createLifecycle, type Part, StartFailed, StopFailed } from '#shared/runtime/lifecycle.ts'
import { silentLog } from '#test/support/silent-log.ts'

function recorded() {
  const story: string[] = []
  const part = (name: string, failure: { start?: Error; stop?: Error } = {}): Part => ({
    name,
    start: async () => {
      story.push(`start ${name}`)
      if (failure.start) throw failure.start
    },
    stop: async () => {
      story.push(`stop ${name}`)
      if (failure.stop) throw failure.stop
    },
  })
  return { story, part }
}

describe('lifecycle', () => {
  test('parts start in order and stop in reverse order', async () => {
    const { story, part } = recorded()
    const lifecycle = createLifecycle({ log: silentLog })
    await lifecycle.start([part('a'), part('b')])
    await lifecycle.stop()
    expect(story).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  test('a failed start stops all started parts and the failed part, and the error names the failed part', async () => {
    const { story, part } = recorded()
    const cause = new Error('refused')
    const lifecycle = createLifecycle({ log: silentLog })
    const started = lifecycle.start([part('a'), part('b', { start: cause }), part('c')])
    await expect(started).rejects.toMatchObject({ code: 'start_failed', part: 'b', cause })
    await expect(started).rejects.toBeInstanceOf(StartFailed)
    expect(story).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  test('a second stop does not stop the parts again', async () => {
    const { story, part } = recorded()
    const lifecycle = createLifecycle({ log: silentLog })
    await lifecycle.start([part('a')])
    await Promise.all([lifecycle.stop(), lifecycle.stop()])
    await lifecycle.stop()
    expect(story).toEqual(['start a', 'stop a'])
  })

  test('all parts are stopped even when some fail, and every error is reported', async () => {
    const { story, part } = recorded()
    const first = new Error('first')
    const second = new Error('second')
    const lifecycle = createLifecycle({ log: silentLog })
    await lifecycle.start([part('a', { stop: second }), part('b'), part('c', { stop: first })])
    const stopped = lifecycle.stop()
    await expect(stopped).rejects.toBeInstanceOf(StopFailed)
    await expect(stopped).rejects.toMatchObject({ errors: [first, second], parts: ['c', 'a'] })
    expect(story.slice(3)).toEqual(['stop c', 'stop b', 'stop a'])
  })

  test('a part that does not stop within its limit is reported, the others are stopped', async () => {
    const { story, part } = recorded()
    const hanging: Part = { ...part('hanging'), stop: () => new Promise(() => {}), stopWithinMs: 20 }
    const lifecycle = createLifecycle({ log: silentLog })
    await lifecycle.start([part('a'), hanging])
    await expect(lifecycle.stop()).rejects.toMatchObject({ parts: ['hanging'] })
    expect(story).toContain('stop a')
  })

  test('all parts share one budget: a part that hangs leaves time for each of the others', async () => {
    const { story, part } = recorded()
    const hanging = (name: string): Part => ({ ...part(name), stop: () => new Promise(() => {}) })
    const lifecycle = createLifecycle({ log: silentLog, stopWithinMs: 1_600 })
    await lifecycle.start([part('a'), hanging('b'), hanging('c')])
    const since = performance.now()
    await expect(lifecycle.stop()).rejects.toMatchObject({
      message: 'These parts could not be stopped: c, b.',
      errors: [new Error('"c" did not stop within 600 ms.'), new Error('"b" did not stop within 500 ms.')],
    })
    expect(performance.now() - since).toBeLessThan(3_000)
    expect(story.at(-1)).toBe('stop a')
  })

  test('a stop during the start waits for the current part and starts no other', async () => {
    const { story, part } = recorded()
    const gate = Promise.withResolvers<void>()
    const slow: Part = { ...part('slow'), start: () => gate.promise }
    const lifecycle = createLifecycle({ log: silentLog })
    const started = lifecycle.start([slow, part('b')])
    const stopped = lifecycle.stop()
    expect(lifecycle.isStopping()).toBe(true)
    gate.resolve()
    await Promise.all([started, stopped])
    expect(story).toEqual(['stop slow'])
  })
})
