/**
 * Possible paths of Chromium, best first. The variable CHROMIUM replaces the list.
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
