import { Value } from '@sinclair/typebox/value'
import { ChunkPlannedEvent } from '#schemas/events/chunk-planned.ts'
import { type ReceivedCall, type Script, startSimulatedAiSystem } from '../ai-system/simulated-ai-system.ts'
import type { SinkCall } from './invariants/facts.ts'

export type Sink = { readonly url: string; readonly calls: readonly SinkCall[]; stop(): Promise<void> }

/** With a secret, the dispatcher signs its calls and adds the time of sending (Standard Webhooks). */
export const signingSecret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

/** The simulated AI system of a run. Keeps every call with the phones that it received. */
export async function startSink(script: Script, seed: number): Promise<Sink> {
  const calls: SinkCall[] = []
  const onCall = ({ body, headers, receivedAt, status }: ReceivedCall) => {
    const data: unknown = JSON.parse(body.toString('utf8'))
    if (!Value.Check(ChunkPlannedEvent.data, data)) return
    const phones = data.contacts.map(({ phone }) => phone)
    const sentAt = Math.min(receivedAt, lastMsOf(headers['webhook-timestamp']))
    calls.push({ jobId: data.job_id, chunkIndex: data.chunk_index, phones, sentAt, status })
  }
  const { url, stop } = await startSimulatedAiSystem({ script, seed, onCall })
  return { url, calls, stop }
}

/** The header has whole seconds of the clock of the sender. Without the header, the time of arrival counts. */
const lastMsOf = (seconds: string | string[] | undefined): number =>
  typeof seconds === 'string' ? Number(seconds) * 1_000 + 999 : Number.POSITIVE_INFINITY
