import { expect, test } from 'vitest'
import { runTool } from '#infra/backing-services/run-tool.ts'

const { signal } = new AbortController()
const sh = (script: string) => ({ command: 'sh', args: ['-c', script], signal })

test('a tool may be silent after its first output', async () => {
  const result = await runTool({ ...sh('echo begun; sleep 1; echo done'), firstOutputWithinMs: 500 })
  expect(result).toEqual({ found: true, code: 0, signal: null, output: 'begun\ndone\n' })
})

test('a tool that writes nothing within the limit is ended', async () => {
  const result = await runTool({ ...sh('exec sleep 300'), firstOutputWithinMs: 200 })
  expect(result).toEqual({ found: true, code: null, signal: 'SIGTERM', output: '' })
})

test('a tool that does not exist resolves with found: false', async () => {
  const result = await runTool({ command: 'no-such-tool', args: [], signal })
  expect(result).toEqual({ found: false, code: null, signal: null, output: '' })
})

test('an abort ends the tool and rejects with the reason', async () => {
  const reason = new Error('stopped')
  const aborted = AbortSignal.timeout(200)
  await expect(runTool({ ...sh('exec sleep 300'), signal: aborted })).rejects.toThrow('timeout')
  await expect(runTool({ ...sh('exec sleep 300'), signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})
