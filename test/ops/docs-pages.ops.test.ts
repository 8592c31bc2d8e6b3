import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { contractList } from '#schemas/http/contracts.ts'
import { startBrowser } from '../support/http/browser.ts'
import { createMemoryApp, type MemoryApp } from '../support/system/memory-app.ts'

let memory: MemoryApp
let browser: Browser
let origin: string
let page: Page
let requested: string[]
let violations: string[]

beforeAll(async () => {
  memory = await createMemoryApp()
  origin = await memory.app.listen({ host: '127.0.0.1', port: 0 })
  browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  await memory?.app.close()
})

beforeEach(async () => {
  const current = { requested: [] as string[], violations: [] as string[] } // Per page, because the previous page can still report events.
  requested = current.requested
  violations = current.violations
  page = await browser.newPage({ viewport: { width: 1400, height: 1000 } })
  page.on('request', (request) => current.requested.push(request.url()))
  page.on('pageerror', (error) => current.violations.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) current.violations.push(message.text())
  })
})
afterEach(() => page.close())

describe('in a browser', () => {
  test('the address without a path opens the API reference', async () => {
    await page.goto(origin)
    expect(page.url()).toBe(`${origin}/docs`)
  })

  test('the API reference shows every endpoint, sends no request to another host and violates no content security policy', async () => {
    await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' })
    await page.getByRole('heading', { name: 'Contact import service' }).waitFor()
    await page.getByRole('button', { name: 'health' }).first().click()
    const text = page.locator('body')
    for (const { summary } of contractList) await text.getByText(summary).first().waitFor({ state: 'visible' })
    expect(await text.innerText()).toContain(`${origin}/v1/contacts/import`)
    expect(requested.length).toBeGreaterThan(3)
    expect(requested.filter((url) => !url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url))).toEqual([])
    expect(violations).toEqual([])
  })

  test('the content security policy blocks requests to another host', async () => {
    await page.goto(`${origin}/docs`)
    const outcome = page.evaluate(() => fetch('http://127.0.0.2:9/').then(String, (error) => String(error)))
    expect(await outcome).toContain('TypeError')
    expect(violations.join()).toContain('Content Security Policy')
  })

  test('a request can be sent from the API reference', async () => {
    await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' })
    await page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click()
    const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/contacts/import`))
    await page.getByRole('button', { name: /^Send/ }).first().click()
    expect((await answered).status()).toBe(401)
  })

  test('the link of an error opens its section', async () => {
    await page.goto(`${origin}/docs/errors#rate_limit_exceeded`)
    const heading = page.getByRole('heading', { name: 'rate_limit_exceeded' })
    await heading.waitFor()
    expect((await heading.boundingBox())?.y).toBeLessThan(1_000)
    expect(await page.evaluate("getComputedStyle(document.querySelector('h2')).fontFamily")).toContain('monospace')
    expect(violations).toEqual([])
  })
})
