import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** A lock older than this is stale: no installation takes so long, and the kernel may have reused its pid. */
const oldestLockMs = 15 * 60_000

/**
 * Runs `work` while holding the lock. Waits while another process holds the lock.
 * @param {string} lock the path of the lock file
 * @param {{ onWait: () => void, work: () => Promise<void> }} job
 */
export async function exclusively(lock, { onWait, work }) {
  mkdirSync(dirname(lock), { recursive: true })
  for (let waited = false; !take(lock); waited = true) {
    if (!waited) onWait()
    if (isStale(lock)) rmSync(lock, { force: true })
    await delay(200)
  }
  try {
    await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** @param {string} lock */
function take(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

/** @param {string} lock */
function isStale(lock) {
  try {
    if (Date.now() - statSync(lock).mtimeMs > oldestLockMs) return true
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}
