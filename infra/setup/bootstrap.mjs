/**
 * Makes a fresh clone ready: the dependencies of the lockfile, among them the Node the sources run on.
 * Plain JavaScript without dependencies, for whatever Node the machine has; a moment when nothing is to be done.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exclusively } from './install-lock.mjs'
import { installState, isNodeRecent, oldestNode, stampInstall } from './install-state.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const lock = join(root, '.cache', 'install.lock')
const log = join(root, '.cache', 'install.log')

/** A fault a person can mend: its message is printed, without a stack trace. */
class SetupFault extends Error {}

try {
  if (process.platform === 'win32') throw new SetupFault('This runs on Linux and macOS: on Windows, use WSL.')
  if (!existsSync(join(root, 'package-lock.json'))) {
    throw new SetupFault('package-lock.json is missing: restore it with git checkout package-lock.json.')
  }
  if (installState(root) !== 'current') await exclusively(lock, { onWait: sayWaiting, work: bringUpToDate })
  checkNode()
} catch (error) {
  console.error(error instanceof SetupFault ? error.message : error)
  process.exitCode = 1
}

function sayWaiting() {
  console.error('Waiting for another process that is installing the dependencies …')
}

async function bringUpToDate() {
  const state = installState(root)
  if (state === 'outdated') await install()
  if (state !== 'current') stampInstall(root)
}

async function install() {
  const count = Object.keys(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages).length - 1
  console.error(`Installing the dependencies (up to ${count} packages) …`)
  const since = Date.now()
  const progress = setInterval(() => {
    console.error(`  still installing (${Math.round((Date.now() - since) / 1_000)} s) …`)
  }, 5_000)
  const { exitCode, output } = await npm([
    'ci',
    '--ignore-scripts',
    '--include=dev',
    '--include=optional',
    '--loglevel=error',
  ])
  clearInterval(progress)
  if (exitCode === 0) return
  // npm leaves what it had unpacked when it was interrupted.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true })
  mkdirSync(dirname(log), { recursive: true })
  writeFileSync(log, output)
  const code = /npm error code (\S+)/.exec(output)?.[1]
  if (code === 'EUSAGE') {
    throw new SetupFault(
      'package.json and package-lock.json do not match: restore both with git checkout package.json package-lock.json.',
    )
  }
  const reason = code === undefined ? `exit code ${exitCode}` : code
  throw new SetupFault(
    `The dependencies could not be installed (npm: ${reason}; its output: ${log}): check the network and npm's settings and run this again.`,
  )
}

/**
 * Ctrl-C reaches npm as well: it is waited for, so that nothing goes on behind our back.
 * @param {string[]} args
 * @returns {Promise<{ exitCode: number, output: string }>}
 */
async function npm(args) {
  const script = process.env.npm_execpath ?? ''
  const [command, ...first] = /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
  const child = spawn(command, [...first, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const forward = () => child.kill('SIGINT')
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, forward)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const exitCode = await new Promise((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(-1)
    })
    child.once('close', (code) => resolve(code ?? 130))
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, forward)
  return { exitCode, output }
}

/** npm scripts put node_modules/.bin first on PATH, so the Node from there is the one that matters. */
function checkNode() {
  const bundled = join(root, 'node_modules', '.bin', 'node')
  const version = existsSync(bundled) ? versionOf(bundled) : process.versions.node
  if (isNodeRecent(version)) return
  throw new SetupFault(
    `Node ${oldestNode} or newer is needed, this is ${version}, and none comes with the dependencies for ${process.platform}-${process.arch}: install Node 24.`,
  )
}

/** @param {string} binary */
function versionOf(binary) {
  try {
    return execFileSync(binary, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
  } catch {
    throw new SetupFault(
      `The Node that comes with the dependencies does not run on this machine (${binary}): install Node 24 and remove that file.`,
    )
  }
}
