import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..', '..')

/** What `npm run <name>` runs; empty for a script that package.json does not have. */
export function packageScript(name: string): string {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>
  }
  return scripts[name] ?? ''
}
