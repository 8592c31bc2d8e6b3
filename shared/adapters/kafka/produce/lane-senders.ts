import type { PartitionAnswer } from './broker-client.ts'
import type { LaneBatches } from './lane-batches.ts'
import type { Leaders } from './leaders.ts'
import type { Batch } from './partition-batch.ts'

export type SendReport = { readonly records: number; readonly callers: number; readonly bytes: number }

export type SendersOptions = {
  readonly batches: LaneBatches
  readonly leaders: Leaders
  /** Minimum milliseconds between the starts of two sends to one leader. */
  readonly sendEveryMs: number
  /** From this number of waiting records of one leader on, sends ignore `sendEveryMs`. */
  readonly sendAtOnceRecords: number
  readonly onSend: (send: SendReport) => void
}

export type LaneSenders = ReturnType<typeof createLaneSenders>

/**
 * One sender per leader, each with at most one request in flight, so that a dead leader delays only its own partitions.
 * All senders share one producer id: an unanswered batch is repeated with its sequence numbers at whichever broker then
 * leads its partition, and the log stores it once.
 */
export function createLaneSenders({ batches, leaders, sendEveryMs, sendAtOnceRecords, onSend }: SendersOptions) {
  const running = new Map<number, { endPause(): void }>()
  const lastSend = new Map<number, number>()
  let flushing = false

  const mustSendNow = (leader: number): boolean => flushing || batches.waitingRecords(leader) >= sendAtOnceRecords

  async function pauseBetweenSends(leader: number) {
    const remainingMs = (lastSend.get(leader) ?? -sendEveryMs) + sendEveryMs - performance.now()
    if (remainingMs <= 0 || mustSendNow(leader)) return
    const ended = Promise.withResolvers<void>()
    const timer = setTimeout(ended.resolve, remainingMs)
    running.set(leader, { endPause: ended.resolve })
    await ended.promise
    clearTimeout(timer)
  }

  /** Resolves to false when the leader could not be reached or did not store a batch. */
  async function sendAll(leader: number): Promise<boolean> {
    while (batches.hasWork(leader)) {
      await pauseBetweenSends(leader)
      const client = await leaders.client(leader)
      const producer = client && (await batches.producerId())
      if (client === null || producer === null || !client.isConnected()) return false
      const group = batches.take(leader, producer)
      const [first] = group
      if (first === undefined) return false
      lastSend.set(leader, performance.now())
      onSend(reportOf(group))
      const answers = await client.produce(first.producer, group.map(withRecords)).then(byPartition, () => null)
      for (const batch of group) batches.answered(batch, answers?.get(batch.partition) ?? null)
      if (answers === null) leaders.drop(leader)
      if (group.some(({ state }) => state === 'waiting')) return false
    }
    return true
  }

  /** Starts a sender for the leader if work waits for it. */
  function send(leader: number) {
    const sender = running.get(leader)
    if (sender !== undefined && mustSendNow(leader)) sender.endPause()
    if (sender !== undefined || leader < 0 || !batches.hasWork(leader)) return
    running.set(leader, { endPause() {} })
    void sendAll(leader).then((done) => {
      running.delete(leader)
      if (done) send(leader) // appends that arrived after the last check
    })
  }

  return {
    send,
    sendToAll() {
      for (const leader of leaders.all()) send(leader)
    },
    /** Ends the pauses between sends from now on. */
    flush() {
      flushing = true
    },
  }
}

const byPartition = (answers: readonly PartitionAnswer[]): ReadonlyMap<number, PartitionAnswer> =>
  new Map(answers.map((answer) => [answer.partition, answer]))

const withRecords = ({ partition, firstSequence, appends }: Batch) => ({
  partition,
  firstSequence,
  records: appends.flatMap(({ records }) => records),
})

function reportOf(group: readonly Batch[]): SendReport {
  const callers = group.flatMap(({ appends }) => appends)
  return {
    records: callers.reduce((sum, { records }) => sum + records.length, 0),
    bytes: group.reduce((sum, { bytes }) => sum + bytes, 0),
    callers: callers.length,
  }
}
