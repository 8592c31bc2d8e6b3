import { Value } from '@sinclair/typebox/value'
import { ChunkPlannedEvent } from '#schemas/events/chunk-planned.ts'
import { type ReceivedCall, type Script, startSimulatedAiSystem } from '../ai-system/simulated-ai-system.ts'
import type { SinkCall } from './invariants/facts.ts'

export type Sink = { readonly url: string; readonly calls: readonly SinkCall[]; stop(): Promise<void> }

/** The simulated AI system of a run. Keeps every call with the phones that it received. */
export async function startSink(script: Script, seed: number): Promise<Sink> {
  const calls: SinkCall[] = []
  const onCall = ({ body, receivedAt, status }: ReceivedCall) => {
    const data: unknown = JSON.parse(body.toString('utf8'))
    if (!Value.Check(ChunkPlannedEvent.data, data)) return
    const phones = data.contacts.map(({ phone }) => phone)
    calls.push({ jobId: data.job_id, chunkIndex: data.chunk_index, phones, receivedAt, status })
  }
  const { url, stop } = await startSimulatedAiSystem({ script, seed, onCall })
  return { url, calls, stop }
}
