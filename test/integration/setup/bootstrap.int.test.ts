import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Environment, startChild } from '#infra/backing-services/child.ts'
import { eventually } from '#test/support/eventually.ts'
import { repositoryRoot } from '#test/support/repository-root.ts'
import { pathWith } from '#test/support/system/start-process.ts'

let root: string
let registry: Server
let tarball: Buffer
const path = (...names: string[]) => join(root, ...names)
const writeJson = (file: string, value: unknown) => writeFileSync(path(file), JSON.stringify(value))

/** A project with one dependency, and a server that has its package. */
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'contact-import-bootstrap-'))
  cpSync(join(repositoryRoot, 'infra', 'setup'), path('infra', 'setup'), { recursive: true })
  registry = createServer((_request, response) => response.end(tarball)).listen(0, '127.0.0.1')
  await once(registry, 'listening')
  writeProject('1.0.0')
})
afterEach(() => {
  registry.close()
  rmSync(root, { recursive: true, force: true })
})

function writeProject(version: string) {
  const address = registry.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  mkdirSync(path('package'), { recursive: true })
  writeJson('package/package.json', { name: 'part', version })
  tarball = execFileSync('tar', ['-cz', 'package'], { cwd: root })
  const project = { name: 'fixture', version: '1.0.0', dependencies: { part: version } }
  writeJson('package.json', project)
  const resolved = `http://127.0.0.1:${address.port}/part-${version}.tgz`
  writeJson('package-lock.json', {
    ...{ name: 'fixture', version: '1.0.0', lockfileVersion: 3, requires: true },
    packages: { '': project, 'node_modules/part': { version, resolved } },
  })
}

const bootstrap = (env: Environment = {}) =>
  startChild({
    command: process.execPath,
    args: [path('infra', 'setup', 'bootstrap.mjs')],
    cwd: root,
    env,
    ownGroup: true,
  })

async function outcome(env?: Environment) {
  const child = await bootstrap(env)
  return { ...(await child.exited), output: child.output() }
}

const leftovers = () => readdirSync(path('.cache'))

test('three installations at the same time all succeed', async () => {
  const results = await Promise.all([outcome(), outcome(), outcome()])
  for (const { code, output } of results) expect(code, output).toBe(0)
  expect(existsSync(path('node_modules', 'part'))).toBe(true)
  expect(leftovers()).toEqual([])
  expect((await outcome()).output).toBe('')
})

test('a changed lockfile replaces node_modules', async () => {
  await outcome()
  writeFileSync(path('node_modules', 'old'), '')
  writeProject('2.0.0')
  expect(await outcome()).toMatchObject({ code: 0 })
  expect(existsSync(path('node_modules', 'old'))).toBe(false)
})

/** A folder for PATH with a `npm` that runs the script. */
function withNpm(script: string): Environment {
  const bin = pathWith(root, ['sleep', 'sh'])
  writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return { PATH: bin }
}

test('Ctrl-C during the installation is reported as an interruption and keeps node_modules', async () => {
  await outcome()
  writeProject('2.0.0')
  const child = await bootstrap(withNpm('mkdir node_modules; echo begun >&2; exec sleep 300'))
  await eventually(() => expect(child.output()).toContain('begun'))
  child.kill('SIGINT')
  expect((await child.exited).code).toBe(1)
  expect(child.output()).toContain('The installation of the dependencies was interrupted: run the command again.')
  expect(child.output()).not.toContain('network')
  expect(existsSync(path('node_modules', 'part'))).toBe(true)
  expect(leftovers()).toEqual([])
})

test('an npm that fails is reported with the fix, and node_modules is kept', async () => {
  await outcome()
  writeProject('2.0.0')
  const { code, output } = await outcome(withNpm('echo "npm error code ENOTFOUND" >&2; exit 1'))
  expect(code).toBe(1)
  expect(output).toMatch(/npm error code ENOTFOUND\nnpm could not install the dependencies\. .*check the network/)
  expect(existsSync(path('node_modules', 'part'))).toBe(true)
  expect(leftovers()).toEqual([])
})
