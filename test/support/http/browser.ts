import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { chromiumPaths } from '#infra/setup/chromium.mjs'

const quiet = ['quic', 'background-networking', 'component-update', 'sync'].map((feature) => `--disable-${feature}`)

/** Starts the installed Chromium, headless. Throws if Chromium is not installed. */
export function startBrowser(): Promise<Browser> {
  const executablePath = chromiumPaths().find((path) => existsSync(path))
  if (executablePath === undefined)
    throw new Error('Chromium is not installed. npm run test:ops prints how to install it.')
  return chromium.launch({
    executablePath,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  })
}
