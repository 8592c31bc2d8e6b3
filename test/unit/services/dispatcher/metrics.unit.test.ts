import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDispatchMetrics, type DispatchMetrics, type DispatchState } from '#services/dispatcher/metrics.ts'

let provider: MeterProvider
let exporter: InMemoryMetricExporter
let metrics: DispatchMetrics

beforeEach(() => {
  exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  provider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
  })
  metrics = createDispatchMetrics(provider.getMeter('test'))
})
afterEach(() => provider.shutdown())

async function collected(): Promise<Record<string, readonly (readonly [Record<string, unknown>, unknown])[]>> {
  exporter.reset()
  await provider.forceFlush()
  const instruments = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  return Object.fromEntries(
    instruments.map(({ descriptor, dataPoints }) => [
      descriptor.name,
      dataPoints.map(({ attributes, value }) => [
        attributes,
        typeof value === 'object' ? { count: value.count, sum: value.sum } : value,
      ]),
    ]),
  )
}

test('attempts and contacts are counted by outcome; durations are recorded', async () => {
  const attempt = { status: null, reason: null, durationMs: 20, appendMs: 3, size: 100 }
  metrics.attempted({ ...attempt, outcome: 'ChunkSent', status: 202 })
  metrics.attempted({ ...attempt, outcome: 'ChunkSent', status: 202 })
  metrics.attempted({ ...attempt, outcome: 'ChunkRetryScheduled', status: 503 })
  metrics.attempted({ ...attempt, outcome: 'ChunkFailed', reason: 'timeout' })
  metrics.replanned()
  metrics.recovered({ waitedMs: 11_000, foldMs: 250 })
  expect(await collected()).toMatchObject({
    'dispatcher.attempts': [
      [{ outcome: 'ChunkSent', result: '202' }, 2],
      [{ outcome: 'ChunkRetryScheduled', result: '503' }, 1],
      [{ outcome: 'ChunkFailed', result: 'timeout' }, 1],
    ],
    'dispatcher.contacts': [
      [{ outcome: 'ChunkSent' }, 200],
      [{ outcome: 'ChunkFailed' }, 100],
    ],
    'dispatcher.call.duration': [
      [{ outcome: 'ChunkSent' }, { count: 2, sum: 40 }],
      [{ outcome: 'ChunkRetryScheduled' }, { count: 1, sum: 20 }],
      [{ outcome: 'ChunkFailed' }, { count: 1, sum: 20 }],
    ],
    'dispatcher.append.duration': [[{}, { count: 4, sum: 12 }]],
    'dispatcher.replans': [[{}, 1]],
    'dispatcher.recovery.duration': [
      [{ part: 'wait' }, { count: 1, sum: 11_000 }],
      [{ part: 'fold' }, { count: 1, sum: 250 }],
    ],
  })
})

test('gauges return the state at the time of collection', async () => {
  let state: DispatchState = {
    ...{ calls: 3, limit: 64, breaker: 'closed', refusedWith: null },
    ...{ recording: 1, waiting: 40, partitions: 12 },
  }
  metrics.observe(() => state)
  const valuesNow = async () =>
    Object.fromEntries(Object.entries(await collected()).map(([name, points]) => [name, points.at(-1)?.[1]]))
  expect(await valuesNow()).toEqual({
    'dispatcher.calls': 3,
    'dispatcher.calls.limit': 64,
    'dispatcher.breaker': 0,
    'dispatcher.refused': 0,
    'dispatcher.recording': 1,
    'dispatcher.waiting': 40,
    'dispatcher.partitions': 12,
  })
  state = { ...state, calls: 0, limit: 32, breaker: 'open', refusedWith: 401 }
  expect(await valuesNow()).toMatchObject({
    'dispatcher.calls': 0,
    'dispatcher.calls.limit': 32,
    'dispatcher.breaker': 2,
    'dispatcher.refused': 1,
  })
})
