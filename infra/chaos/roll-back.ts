import type { MongodbCluster } from '#infra/backing-services/cluster/start-cluster.ts'
import { fixedDelay, pauseFor, retry, tryAgain } from '#shared/runtime/retry.ts'

const electionWithinMs = 60_000
const rollBackWithinMs = 60_000

/**
 * The primary `old` accepts writes for `lastsMs` that no other member replicates. It is then suspended until the others
 * have elected a new primary. When `old` continues, it rolls those writes back. Rejects when nothing was rolled back.
 */
export async function rollBack(
  mongodb: MongodbCluster,
  { old, lastsMs }: { readonly old: number; readonly lastsMs: number },
): Promise<void> {
  const others = mongodb.members.flatMap((_, index) => (index === old ? [] : [index]))
  const replicate = (mode: 'alwaysOn' | 'off') =>
    Promise.all(others.map((index) => mongodb.command(index, { configureFailPoint: 'stopReplProducer', mode })))
  const before = await rollBacksOf(mongodb, old)
  await replicate('alwaysOn')
  await pauseFor(lastsMs)
  await mongodb.pause(old)
  try {
    await replicate('off')
    await until(electionWithinMs, 'No other member became the primary.', async () => {
      const states = await Promise.all(others.map((index) => mongodb.command(index, { hello: 1 })))
      return states.some(({ isWritablePrimary }) => isWritablePrimary === true)
    })
  } finally {
    await mongodb.resume(old)
  }
  await until(rollBackWithinMs, 'The old primary had no write to roll back.', async () => {
    return (await rollBacksOf(mongodb, old)) !== before
  })
}

/** The server changes this id at each rollback. */
async function rollBacksOf(mongodb: MongodbCluster, index: number): Promise<unknown> {
  const { rbid } = await mongodb.command(index, { replSetGetRBID: 1 })
  return rbid
}

async function until(withinMs: number, fault: string, isTrue: () => Promise<boolean>): Promise<void> {
  const step = async () => ((await isTrue()) ? undefined : tryAgain)
  const result = await retry(step, { delays: fixedDelay(200, withinMs), onError() {} })
  if (result.is === 'given_up') throw new Error(fault)
}
