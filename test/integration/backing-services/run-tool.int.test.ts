import { expect, test } from 'vitest'
import { runTool } from '#infra/backing-services/download.ts'

const { signal } = new AbortController()
const sh = (script: string) => ({ command: 'sh', args: ['-c', script], signal })

test('a tool that has begun to write may be silent for longer than before its first word', async () => {
  const result = await runTool({ ...sh('echo begun; sleep 1; echo done'), firstWordWithinMs: 500 })
  expect(result).toEqual({ found: true, exitCode: 0, endedBy: null, output: 'begun\ndone\n' })
})

test('a tool without a first word is ended', async () => {
  const result = await runTool({ ...sh('exec sleep 300'), firstWordWithinMs: 200 })
  expect(result).toEqual({ found: true, exitCode: -1, endedBy: 'SIGTERM', output: '' })
})
