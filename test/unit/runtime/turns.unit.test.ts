import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTurns } from '#shared/runtime/turns.ts'

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('turns of the event loop', () => {
  test('let so many callers go on in each, in the order they came, and all of them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 17 }), async (perTurn, callers) => {
        const turn = createTurns(perTurn)
        const wentOn: number[] = []
        const all = Array.from({ length: callers }, (_, caller) => turn().then(() => wentOn.push(caller)))
        expect(wentOn).toEqual([])
        for (let done = 0; done < callers; done = wentOn.length) {
          await nextTurn()
          expect(wentOn).toEqual(Array.from({ length: Math.min(callers, done + perTurn) }, (_, caller) => caller))
        }
        await Promise.all(all)
      }),
    )
  })

  test('come for callers that come while others go on', async () => {
    const turn = createTurns(2)
    const wentOn: string[] = []
    const goes = async (name: string, then: () => Promise<void> = async () => {}) => {
      await turn()
      wentOn.push(name)
      await then()
    }
    await Promise.all([goes('a', () => goes('c')), goes('b', () => goes('d'))])
    await goes('e')
    expect(wentOn).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})
