import { expect, test } from 'vitest'
import { cpuPerMillion, processesOf } from '#infra/bench/process-cpu.ts'

test('--processes is parsed as name=pid', () => {
  expect(processesOf('services=12,kafka=34')).toEqual({ services: 12, kafka: 34 })
  expect(processesOf('')).toEqual({})
})

test('CPU time per million contacts is reported for each process and for all together', () => {
  expect(cpuPerMillion({ services: 10, kafka: 5 }, { services: 16, kafka: 7 }, 200_000)).toEqual({
    cpu_s_per_million_services: 30,
    cpu_s_per_million_kafka: 10,
    cpu_s_per_million_all: 40,
  })
})

test('without processes the report is empty', () => {
  expect(cpuPerMillion({}, {}, 1)).toEqual({})
})
