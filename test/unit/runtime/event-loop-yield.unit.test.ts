import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEventLoopYield } from '#shared/runtime/event-loop-yield.ts'

const nextIteration = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('event loop yield', () => {
  test('resumes at most the given number of callers per iteration, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 17 }),
        async (perIteration, callers) => {
          const yieldToEventLoop = createEventLoopYield(perIteration)
          const resumed: number[] = []
          const all = Array.from({ length: callers }, (_, caller) =>
            yieldToEventLoop().then(() => resumed.push(caller)),
          )
          expect(resumed).toEqual([])
          for (let done = 0; done < callers; done = resumed.length) {
            await nextIteration()
            expect(resumed).toEqual(
              Array.from({ length: Math.min(callers, done + perIteration) }, (_, caller) => caller),
            )
          }
          await Promise.all(all)
        },
      ),
    )
  })

  test('resumes callers that arrive while others are resumed', async () => {
    const yieldToEventLoop = createEventLoopYield(2)
    const resumed: string[] = []
    const resume = async (name: string, then: () => Promise<void> = async () => {}) => {
      await yieldToEventLoop()
      resumed.push(name)
      await then()
    }
    await Promise.all([resume('a', () => resume('c')), resume('b', () => resume('d'))])
    await resume('e')
    expect(resumed).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})
