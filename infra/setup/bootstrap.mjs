/**
 * Installs the dependencies when they differ from package-lock.json. They include the Node that runs the TypeScript
 * sources. This file is JavaScript without dependencies, because the Node of the machine may be older.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exclusively } from './install-lock.mjs'
import { isInstalled, isNodeRecent, oldestNode } from './install-state.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const log = join(root, '.cache', 'install.log')
const npmArgs = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--loglevel=error']

class SetupFault extends Error {}

try {
  if (process.platform === 'win32') throw new SetupFault('Windows is not supported: use WSL.')
  if (!existsSync(join(root, 'package-lock.json'))) {
    throw new SetupFault('package-lock.json is missing: restore it with git checkout package-lock.json.')
  }
  if (!isInstalled(root)) {
    await exclusively(join(root, '.cache', 'install.lock'), {
      onWait: () => console.error('Another process is installing the dependencies. Waiting for it …'),
      work: async () => {
        if (!isInstalled(root)) await install()
      },
    })
  }
  checkNode()
} catch (error) {
  console.error(error instanceof SetupFault ? error.message : error)
  process.exitCode = 1
}

async function install() {
  console.error('Installing the dependencies …')
  const begin = Date.now()
  const progress = setInterval(() => {
    console.error(`  still installing (${Math.round((Date.now() - begin) / 1_000)} s) …`)
  }, 5_000)
  const { exitCode, output } = await npm()
  clearInterval(progress)
  if (exitCode === 0) return
  // npm does not remove the packages of an interrupted installation.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true })
  mkdirSync(dirname(log), { recursive: true })
  writeFileSync(log, output)
  const code = /npm error code (\S+)/.exec(output)?.[1] ?? `exit code ${exitCode}`
  throw new SetupFault(
    code === 'EUSAGE'
      ? 'package.json and package-lock.json do not match: restore both with git checkout package.json package-lock.json.'
      : `npm could not install the dependencies (${code}; output: ${log}): check the network and the npm settings, then run the command again.`,
  )
}

/** @returns {Promise<{ exitCode: number, output: string }>} */
async function npm() {
  const script = process.env.npm_execpath ?? ''
  const [command, ...first] = /\.c?js$/.test(script) ? [process.execPath, script] : ['npm']
  const child = spawn(command, [...first, ...npmArgs], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  // After Ctrl-C, this process waits for npm, which could otherwise still write to node_modules.
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

/** npm scripts put node_modules/.bin first on PATH, so this checks the Node in that folder. */
function checkNode() {
  const bundled = join(root, 'node_modules', '.bin', 'node')
  const version = existsSync(bundled) ? versionOf(bundled) : process.versions.node
  if (isNodeRecent(version)) return
  throw new SetupFault(
    `Node ${oldestNode} or newer is required, but this is Node ${version}, and npm has no Node package for ${process.platform}-${process.arch}: install Node ${oldestNode} or newer.`,
  )
}

/** @param {string} node */
function versionOf(node) {
  try {
    return execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
  } catch {
    throw new SetupFault(
      `The installed Node does not run on this machine (${node}): remove node_modules and run the command again. If the fault remains, install Node ${oldestNode} or newer and remove ${node}.`,
    )
  }
}
