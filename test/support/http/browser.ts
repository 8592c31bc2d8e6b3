import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const quiet = ['quic', 'background-networking', 'component-update', 'sync'].map((feature) => `--disable-${feature}`)

const chromiumPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The path in the variable CHROMIUM, or the path of an installed Chromium. Throws if there is none. */
export function chromiumPath(): string {
  const path = [process.env.CHROMIUM || chromiumPaths].flat().find((file) => existsSync(file))
  if (path !== undefined) return path
  throw new Error(
    'The tests of the pages under /docs need Chromium: install Chromium (on Debian and Ubuntu: apt-get install chromium), or set CHROMIUM to its path.',
  )
}

/** Vitest global setup: ends the run when Chromium is missing. */
export default function setup(): void {
  chromiumPath()
}

/** Starts the installed Chromium, headless. Throws if Chromium is not installed. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  })
}
