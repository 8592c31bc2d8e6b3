import { expect, test } from 'vitest'
import { cpuPerMillion, processesOf } from '#infra/bench/process-cpu.ts'

test('processes are read as name=pid', () => {
  expect(processesOf('services=12,kafka=34')).toEqual({ services: 12, kafka: 34 })
  expect(processesOf('')).toEqual({})
})

test('processor time is reported per million contacts, of each process and of all', () => {
  expect(cpuPerMillion({ services: 10, kafka: 5 }, { services: 16, kafka: 7 }, 200_000)).toEqual({
    cpu_s_per_million_services: 30,
    cpu_s_per_million_kafka: 10,
    cpu_s_per_million_all: 40,
  })
})

test('without processes nothing is reported', () => {
  expect(cpuPerMillion({}, {}, 1)).toEqual({})
})
