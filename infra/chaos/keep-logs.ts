import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunResult } from './run.ts'

/** Writes the log of each service into a new directory and returns its path. */
export function keepLogs({ outputs }: Pick<RunResult, 'outputs'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'contact-import-chaos-'))
  for (const [name, output] of outputs) writeFileSync(join(directory, `${name}.log`), output)
  return directory
}
