import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The oldest Node that runs the sources as they are. */
export const oldestNode = '24.16'

/**
 * What node_modules is to package-lock.json: `current` (our stamp says so), `unstamped` (somebody ran npm by hand and it
 * holds what the lockfile asks for) or `outdated` (missing, interrupted, or of another lockfile).
 * @param {string} root
 * @returns {'current' | 'unstamped' | 'outdated'}
 */
export function installState(root) {
  const lockfile = readText(join(root, 'package-lock.json'))
  if (readText(stampPath(root)) === stampOf(lockfile)) return 'current'
  const installed = readText(join(root, 'node_modules', '.package-lock.json'))
  return installed !== '' && holdsEverything(JSON.parse(lockfile), JSON.parse(installed)) ? 'unstamped' : 'outdated'
}

/** @param {string} root */
export function stampInstall(root) {
  writeFileSync(stampPath(root), stampOf(readText(join(root, 'package-lock.json'))))
}

/**
 * npm records what it has installed once it is done. Packages for other platforms are absent there.
 * @typedef {{ packages: Record<string, { version?: string, optional?: boolean }> }} Lockfile
 * @param {Lockfile} wanted
 * @param {Lockfile} installed
 */
export function holdsEverything(wanted, installed) {
  return Object.entries(wanted.packages).every(([path, { version, optional = false }]) => {
    if (path === '') return true
    const found = installed.packages[path]
    return found === undefined ? optional : found.version === version
  })
}

/**
 * @param {string} version as `process.versions.node` gives it
 */
export function isNodeRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

/** @param {string} root */
function stampPath(root) {
  return join(root, 'node_modules', '.installed-from')
}

/** @param {string} lockfile */
function stampOf(lockfile) {
  return `${createHash('sha256').update(lockfile).digest('hex')} ${process.platform}-${process.arch}\n`
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
