/**
 * Paths at which Chromium may be installed, in the order of preference. CHROMIUM replaces them.
 * @returns {string[]}
 */
export function chromiumPaths() {
  const { CHROMIUM } = process.env
  if (CHROMIUM) return [CHROMIUM]
  return [
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ]
}
