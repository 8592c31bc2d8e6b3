import { createHash } from 'node:crypto'
import { Marked } from 'marked'

export type Page = { readonly html: string; readonly contentSecurityPolicy: string }

const denyByDefault = ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]

const frame = (title: string, head: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`

export const scriptUrls = { bundle: '/docs/scalar.js', start: '/docs/start.js' } as const

/** The script that starts Scalar. Every Scalar feature that contacts another host is disabled. */
export const startScript = (openapiUrl: string): string => {
  const settings = {
    url: openapiUrl,
    authentication: { preferredSecurityScheme: 'apiKey' },
    telemetry: false,
    withDefaultFonts: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    documentDownloadType: 'json',
    agent: { disabled: true },
    mcp: { disabled: true },
  }
  return `Scalar.createApiReference('#reference', { servers: [{ url: location.origin }], ...${JSON.stringify(settings)} })\n`
}

/** The API reference. Its policy allows inline styles, because Scalar adds them at run time. */
export const referencePage = (): Page => ({
  html: frame(
    'Contact import service',
    '',
    `<div id="reference"></div>\n${Object.values(scriptUrls)
      .map((url) => `<script src="${url}"></script>`)
      .join(
        '\n',
      )}\n<noscript>The reference needs JavaScript. You can also read <a href="/openapi.json">the OpenAPI document</a>.</noscript>`,
  ),
  contentSecurityPolicy: [
    ...denyByDefault,
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self' data:",
  ].join('; '),
})

const style = `
:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4048); --soft: light-dark(#f5f6f8, #1d2126); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2.5rem auto 6rem; padding: 0 1.25rem; }
h1 { font-size: 1.9rem; }
h2 { font-size: 1.15rem; margin-top: 2.75rem; padding-top: .75rem; border-top: 1px solid var(--line); }
h2:target { background: light-dark(#fff3c4, #4d4312); }
h2, code { font-family: ui-monospace, monospace; }
code { font-size: .9em; background: var(--soft); padding: .1em .3em; border-radius: .25em; }
h2 code, pre code { font-size: 1em; }
pre { background: var(--soft); padding: .75rem 1rem; overflow-x: auto; border-radius: .4em; font-size: .85rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
a { color: light-dark(#0b57d0, #8ab4f8); }
`

/** Converts Markdown to a page. The anchor of a heading is its text, e.g. `#idempotency_conflict`. */
export function markdownPage(title: string, markdown: string): Page {
  const marked = new Marked({
    renderer: {
      heading({ depth, text, tokens }) {
        const anchor = text.toLowerCase().replaceAll(/[^a-z0-9_]+/g, '-')
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
    },
  })
  const body = marked.parse(markdown, { async: false })
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    html: frame(title, `<style>${style}</style>`, body),
    contentSecurityPolicy: [...denyByDefault, `style-src 'sha256-${hash}'`, 'img-src data:'].join('; '),
  }
}
