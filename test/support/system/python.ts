import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cacheDir, cached } from '#infra/backing-services/download.ts'
import { runTool } from '#infra/backing-services/run-tool.ts'

/**
 * Installs the packages of a requirements file once per user and returns their folder for PYTHONPATH. pip checks the
 * hashes. Throws when Python 3 or pip is missing.
 */
export async function pythonPackages(requirements: string): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  return cached(cacheDir(process.env), {
    name: `python-${hash}`,
    async fill(directory) {
      const { found, code, output } = await runTool({
        command: 'python3',
        args: [
          ...['-m', 'pip', 'install', '--no-deps', '--require-hashes', '--only-binary', ':all:'],
          ...['--disable-pip-version-check', '--progress-bar', 'off', '--timeout', '30', '--retries', '2'],
          ...['--requirement', requirements, '--target', directory],
        ],
        signal: AbortSignal.timeout(180_000),
      })
      if (!found) throw new Error('The Python example cannot run: install Python 3 (python3) with pip.')
      if (code !== 0) {
        throw new Error(`The packages of the Python example could not be installed with python3 -m pip:\n${output}`)
      }
    },
  })
}
