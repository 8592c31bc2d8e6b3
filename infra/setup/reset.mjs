/** `npm run reset`: removes the data directory and ends what a killed start has left running in it. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const bootstrap = run(process.execPath, './bootstrap.mjs')
process.exitCode = bootstrap === 0 ? run(bundledNode(), '../start/reset.ts') : bootstrap

/**
 * @param {string} node
 * @param {string} file
 */
function run(node, file) {
  return spawnSync(node, [fileURLToPath(new URL(file, import.meta.url))], { stdio: 'inherit' }).status ?? 1
}

/** The Node that the bootstrap has installed; this one where none comes with the dependencies. */
function bundledNode() {
  const bundled = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
  return existsSync(bundled) ? bundled : process.execPath
}
