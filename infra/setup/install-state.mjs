import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const oldestNode = '24.16'

/**
 * Whether node_modules matches package-lock.json. npm writes node_modules/.package-lock.json at the end of an
 * installation, so the file is missing after an interrupted installation.
 * @param {string} root
 */
export function isInstalled(root) {
  const wanted = readLockfile(join(root, 'package-lock.json'))
  const installed = readLockfile(join(root, 'node_modules', '.package-lock.json'))
  return Object.entries(wanted).every(([path, { version, optional = false }]) => {
    if (path === '') return true
    const found = installed[path]
    if (found === undefined) return optional && Object.keys(installed).length > 0
    return found.version === version && existsSync(join(root, path))
  })
}

/** @param {string} version as in `process.versions.node` */
export function isNodeRecent(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

/**
 * The packages of a lockfile by path; empty when the file is missing.
 * @param {string} path
 * @returns {Record<string, { version?: string, optional?: boolean }>}
 */
function readLockfile(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return {}
  }
}
