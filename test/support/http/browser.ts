import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { chromiumPaths } from '#infra/setup/chromium.mjs'

const quiet = ['quic', 'background-networking', 'component-update', 'sync'].map((feature) => `--disable-${feature}`)

/** A headless Chromium of this machine with a profile of its own that is gone when it is closed. */
export function startBrowser(): Promise<Browser> {
  const executablePath = chromiumPaths().find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error('There is no Chromium; npm run test:ops says how to install one.')
  return chromium.launch({
    executablePath,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', ...quiet],
  })
}
