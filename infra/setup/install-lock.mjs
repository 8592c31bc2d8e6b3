import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** Longer than any installation: the pid in an older lock may belong to another process by now. */
const oldestLockMs = 15 * 60_000

/**
 * Runs `work` while no other process of this checkout does; waits for one that does.
 * @param {string} lock a file
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
