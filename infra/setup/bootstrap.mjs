/**
 * Installs the dependencies when they differ from package-lock.json. They include the Node that runs the TypeScript
 * sources. This file is JavaScript without dependencies, because the Node of the machine may be older.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInstalled, isNodeRecent, oldestNode } from './install-state.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const installed = join(root, 'node_modules')

class SetupFault extends Error {}

try {
  if (process.platform === 'win32') throw new SetupFault('Windows is not supported: use WSL.')
  if (!existsSync(join(root, 'package-lock.json'))) {
    throw new SetupFault('package-lock.json is missing: restore it with git checkout package-lock.json.')
  }
  if (!isInstalled(root)) await install()
  checkNode()
} catch (error) {
  console.error(error instanceof SetupFault ? error.message : error)
  process.exitCode = 1
}

/**
 * Installs into a new directory and moves the result to node_modules. So an interrupted installation changes nothing, and
 * two installations at the same time need no lock: the first one is used.
 */
async function install() {
  const cache = join(root, '.cache')
  mkdirSync(cache, { recursive: true })
  const directory = mkdtempSync(join(cache, 'install-'))
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
      if (existsSync(join(root, file))) copyFileSync(join(root, file), join(directory, file))
    }
    await npmCi(directory)
    if (isInstalled(root)) return
    if (existsSync(installed)) renameSync(installed, join(directory, 'outdated'))
    renameSync(join(directory, 'node_modules'), installed)
  } catch (error) {
    if (error instanceof SetupFault || !isInstalled(root)) throw error
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** @param {string} directory */
async function npmCi(directory) {
  console.error('Installing the dependencies …')
  const options = ['--ignore-scripts', '--include=dev', '--include=optional', '--loglevel=error', '--no-audit']
  const npm = spawn('npm', ['ci', ...options], { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] })
  // After Ctrl-C, this process waits for npm, which otherwise still writes to the directory.
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interrupted = true
      npm.kill('SIGTERM')
    })
  }
  const [code] = await once(npm, 'close').catch(() => [1])
  if (interrupted) throw new SetupFault('The installation of the dependencies was interrupted: run the command again.')
  if (code === 0) return
  throw new SetupFault(
    'npm could not install the dependencies. Its errors are above. EUSAGE: restore package.json and package-lock.json with git checkout. Other codes: check the network and the npm settings, then run the command again.',
  )
}

/** npm scripts put node_modules/.bin first on PATH, so this checks the Node in that folder. */
function checkNode() {
  const bundled = join(installed, '.bin', 'node')
  const node = existsSync(bundled) ? bundled : process.execPath
  const version = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim()
  if (!version) {
    throw new SetupFault(
      `The installed Node does not run on this machine (${node}): remove node_modules and run the command again. If the fault remains, install Node ${oldestNode} or newer and remove ${node}.`,
    )
  }
  if (isNodeRecent(version)) return
  throw new SetupFault(
    `Node ${oldestNode} or newer is required, but this is Node ${version}, and npm has no Node package for ${process.platform}-${process.arch}: install Node ${oldestNode} or newer.`,
  )
}
