import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const staleAfterMs = 15 * 60_000

/**
 * Runs `work` while no other process of this checkout does; waits for one that does.
 * @template T
 * @param {string} path
 * @param {{ onWait: () => void, work: () => Promise<T> }} job
 * @returns {Promise<T>}
 */
export async function exclusively(path, { onWait, work }) {
  mkdirSync(dirname(path), { recursive: true })
  for (let waited = false; !take(path); waited = true) {
    if (!waited) onWait()
    if (isStale(path)) rmSync(path, { force: true })
    await delay(200)
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

/** A hard link appears with its content and only if nothing was there. @param {string} path */
function take(path) {
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, String(process.pid))
  try {
    linkSync(temporary, path)
    return true
  } catch {
    return false
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** @param {string} path */
function isStale(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs > staleAfterMs) return true
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
