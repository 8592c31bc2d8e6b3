import type { Meter } from '@opentelemetry/api'
import type { DeliveryEvent } from '#schemas/events/deliveries.ts'
import type { PositionFault } from '#shared/log-position/position-fault.ts'
import type { GateState } from './attempt-gate.ts'

/** The dispatcher's metrics. No attribute contains a job, a client or a contact. */
export type DispatchMetrics = {
  attempted(attempt: {
    readonly outcome: DeliveryEvent['type']
    /** The HTTP status; null when the AI system did not answer, and `reason` is set. */
    readonly status: number | null
    readonly reason: string | null
    readonly durationMs: number
    readonly appendMs: number
    readonly size: number
  }): void
  replanned(): void
  recovered(recovery: { readonly waitedMs: number; readonly foldMs: number }): void
  /** The committed position of a partition did not match the log. */
  positionFault(fault: PositionFault): void
  /** `now` is called whenever metrics are collected. */
  observe(now: () => DispatchState): void
}

export type DispatchState = GateState & {
  readonly recording: number
  readonly waiting: number
  readonly partitions: number
}

const breakerStates = ['closed', 'half_open', 'open'] as const

export function createDispatchMetrics(meter: Meter): DispatchMetrics {
  const attempts = meter.createCounter('dispatcher.attempts', { description: 'Attempts by outcome' })
  const contacts = meter.createCounter('dispatcher.contacts', { description: 'Contacts by outcome of their chunk' })
  const calls = meter.createHistogram('dispatcher.call.duration', { unit: 'ms', description: 'Calls to the AI system' })
  const appends = meter.createHistogram('dispatcher.append.duration', {
    unit: 'ms',
    description: 'Time to append an outcome',
  })
  const replans = meter.createCounter('dispatcher.replans', { description: 'Waiting chunks planned again' })
  const recoveries = meter.createHistogram('dispatcher.recovery.duration', {
    unit: 'ms',
    description: 'Recovery of a partition',
  })
  const positionFaults = meter.createCounter('dispatcher.position.faults', {
    description: 'Positions that did not match the log, because the log lost records or was replaced',
  })
  const gauges = {
    calls: meter.createObservableGauge('dispatcher.calls', { description: 'Running calls' }),
    limit: meter.createObservableGauge('dispatcher.calls.limit', { description: 'Calls allowed' }),
    breaker: meter.createObservableGauge('dispatcher.breaker', { description: '0 closed, 1 half open, 2 open' }),
    refused: meter.createObservableGauge('dispatcher.refused', {
      description: '1 while the AI system refuses every call with 3xx, 401, 403, 404 or 405',
    }),
    recording: meter.createObservableGauge('dispatcher.recording', { description: 'Outcomes that are being appended' }),
    waiting: meter.createObservableGauge('dispatcher.waiting', {
      description: 'Chunks held without a running attempt',
    }),
    partitions: meter.createObservableGauge('dispatcher.partitions', { description: 'Partitions owned' }),
  }
  return {
    attempted({ outcome, status, reason, durationMs, appendMs, size }) {
      attempts.add(1, { outcome, result: status === null ? (reason ?? '') : String(status) })
      calls.record(durationMs, { outcome })
      appends.record(appendMs)
      if (outcome === 'ChunkSent' || outcome === 'ChunkFailed') contacts.add(size, { outcome })
    },
    replanned: () => replans.add(1),
    recovered({ waitedMs, foldMs }) {
      recoveries.record(waitedMs, { part: 'wait' })
      recoveries.record(foldMs, { part: 'fold' })
    },
    positionFault: (fault) => positionFaults.add(1, { fault }),
    observe(now) {
      meter.addBatchObservableCallback((result) => {
        const state = now()
        result.observe(gauges.calls, state.calls)
        result.observe(gauges.limit, state.limit)
        result.observe(gauges.breaker, breakerStates.indexOf(state.breaker))
        result.observe(gauges.refused, state.refusedWith === null ? 0 : 1)
        result.observe(gauges.recording, state.recording)
        result.observe(gauges.waiting, state.waiting)
        result.observe(gauges.partitions, state.partitions)
      }, Object.values(gauges))
    },
  }
}
