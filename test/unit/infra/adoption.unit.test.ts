import { expect, test } from 'vitest'
import { adoptionOf, fingerprint } from '#infra/backing-services/adoption.ts'

const program = { command: 'java', args: ['-Xmx512m'], env: { A: '1', B: '2' } }
const recorded = { pid: 7, startedAt: 'boot/1', command: fingerprint(program) }

test('nothing recorded means a new start', () => {
  expect(adoptionOf(undefined, recorded.command, () => true)).toEqual({ do: 'start' })
})

test('a recorded process that is gone, or whose pid is another process now, means a new start', () => {
  expect(adoptionOf(recorded, recorded.command, () => false)).toEqual({ do: 'start' })
})

test('the program we would start today is adopted', () => {
  expect(adoptionOf(recorded, fingerprint({ ...program }), () => true)).toEqual({ do: 'adopt', mark: recorded })
})

test.each([
  ['argument', { ...program, args: ['-Xmx1g'] }],
  ['program', { ...program, command: '/opt/java' }],
  ['variable', { ...program, env: { A: '1', B: '3' } }],
])('with another %s it is replaced', (_difference, today) => {
  expect(adoptionOf(recorded, fingerprint(today), () => true)).toEqual({ do: 'replace', mark: recorded })
})

test('the order of variables does not matter', () => {
  expect(fingerprint({ ...program, env: { B: '2', A: '1' } })).toBe(recorded.command)
})
