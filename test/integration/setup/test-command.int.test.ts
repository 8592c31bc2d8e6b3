import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startChild } from '#infra/backing-services/child.ts'
import { eventually } from '#test/support/eventually.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'

let root: string

const config = `export default {
  test: {
    projects: ['unit', 'integration', 'e2e', 'ops'].map((name) => ({
      test: { name, include: ['test/*.' + name + '.test.ts'], globalSetup: name === 'ops' ? ['ops.ts'] : [] },
    })),
  },
}`

const files = {
  'queue.unit.test.ts': `test('takes', () => {}); test('gives', () => {})`,
  'queue.integration.test.ts': `test('keeps', () => {})`,
  'page.ops.test.ts': `test('opens', () => {})`,
}

/** A project with its own tests and the real test command. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'contact-import-test-command-'))
  for (const folder of ['test', 'infra/tooling']) mkdirSync(join(root, folder), { recursive: true })
  cpSync(join(repositoryRoot, 'infra', 'setup'), join(root, 'infra', 'setup'), { recursive: true })
  symlinkSync(join(repositoryRoot, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'infra', 'tooling', 'vitest.config.ts'), config)
  writeFileSync(join(root, 'ops.ts'), `export default () => { throw new Error('Install Chromium.') }`)
  for (const [name, text] of Object.entries(files)) writeTest(name, text)
  writeScripts()
})
afterEach(() => rmSync(root, { recursive: true }))

const writeTest = (name: string, text: string) =>
  writeFileSync(join(root, 'test', name), `import { test } from 'vitest'\n${text}\n`)

function writeScripts(lint = 'echo linted') {
  const scripts = { typecheck: 'true', lint, 'gen:check': 'true' }
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', scripts }))
}

const start = (...args: readonly string[]) =>
  startChild({
    command: process.execPath,
    args: [join(root, 'infra', 'setup', 'test.ts'), ...args],
    cwd: root,
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, NO_COLOR: '1', VITEST: undefined },
    ownGroup: true,
  })

async function run(...args: readonly string[]) {
  const child = await start(...args)
  const { code } = await child.exited
  return { code, output: child.output(), lastLine: child.output().trimEnd().split('\n').at(-1) }
}

test('without an argument the checks and every tier except ops run, and the last line is the total', async () => {
  expect(await run()).toMatchObject({
    code: 0,
    output: expect.stringContaining('linted'),
    lastLine: '3 passed, 0 failed',
  })
})

test('a failed check fails the run even if every test passed', async () => {
  writeScripts('exit 3')
  const { code, output, lastLine } = await run()
  expect({ code, lastLine }).toEqual({ code: 1, lastLine: '3 passed, 0 failed' })
  expect(output).toContain('npm run lint failed.')
})

test('a failed test and a file that cannot be loaded are counted and printed', async () => {
  writeTest('a.unit.test.ts', `test('fails', () => { throw new Error('1 is not 2') })`)
  writeTest('b.unit.test.ts', `import './missing.ts'`)
  const { code, output, lastLine } = await run('unit')
  expect({ code, lastLine }).toEqual({ code: 1, lastLine: '2 passed, 2 failed' })
  expect(output).toContain('1 is not 2')
  expect(output).toContain('missing.ts')
})

test('a pattern runs the files whose path contains it, without the checks; -t selects tests by name', async () => {
  const byPath = await run('QUEUE.unit')
  expect(byPath).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed' })
  expect(byPath.output).not.toContain('linted')
  expect(await run('queue', '-t', 'gives')).toMatchObject({ code: 0, lastLine: '1 passed, 0 failed' })
})

test('--project ops runs only that tier. A failed setup is printed and is not counted as a test', async () => {
  const { code, output, lastLine } = await run('--project', 'ops')
  expect({ code, lastLine }).toEqual({ code: 1, lastLine: '0 passed, 0 failed' })
  expect(output).toContain('Install Chromium.')
})

test('Ctrl-C ends the run with code 130 and counts no failed test', async () => {
  writeTest(
    'slow.unit.test.ts',
    `test('waits', () => { console.log('waiting'); return new Promise(() => {}) }, 300_000)`,
  )
  const child = await start('slow')
  await eventually(() => expect(child.output()).toContain('waiting'))
  child.kill('SIGINT')
  expect((await child.exited).code).toBe(130)
  expect(child.output()).not.toMatch(/failed$/m)
})

test.each([
  ['a pattern that matches no file', ['queeu'], 'path that contains "queeu"'],
  ['one of two patterns that matches no file', ['queue', 'x1'], 'path that contains "x1"'],
  ['an unknown option', ['--fast'], 'Usage: npm test'],
  ['-t without a name', ['-t'], 'Usage: npm test'],
])('%s is refused with a message', async (_, args, sentence) => {
  expect(await run(...args)).toMatchObject({ code: 2, output: expect.stringContaining(sentence) })
})

test('a name that matches no test fails the run', async () => {
  expect(await run('-t', 'nothing')).toMatchObject({
    code: 1,
    output: expect.stringContaining('No test has this name.'),
  })
})
