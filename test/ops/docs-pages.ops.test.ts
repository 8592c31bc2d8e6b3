import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { contractList } from '#schemas/http/contracts.ts'
import { startBrowser } from '../support/http/browser.ts'
import { createMemoryApp, type MemoryApp } from '../support/system/memory-app.ts'

let memory: MemoryApp
let browser: Browser
let origin: string
let page: Page
let asked: string[]
let complaints: string[]

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
  const ofThisPage = { asked: [] as string[], complaints: [] as string[] } // a page before may still have to say something
  asked = ofThisPage.asked
  complaints = ofThisPage.complaints
  page = await browser.newPage({ viewport: { width: 1400, height: 1000 } })
  page.on('request', (request) => ofThisPage.asked.push(request.url()))
  page.on('pageerror', (error) => ofThisPage.complaints.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) ofThisPage.complaints.push(message.text())
  })
})
afterEach(() => page.close())

describe('in a browser', () => {
  test('the reference shows every endpoint, asks no other host and breaks no policy', async () => {
    await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' })
    await page.getByRole('heading', { name: 'Contact import service' }).waitFor()
    await page.getByRole('button', { name: 'health' }).first().click()
    const text = page.locator('body')
    for (const { summary } of contractList) await text.getByText(summary).first().waitFor({ state: 'visible' })
    expect(await text.innerText()).toContain(`${origin}/v1/contacts/import`)
    expect(asked.length).toBeGreaterThan(3)
    expect(asked.filter((url) => !url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('its policy lets no script reach another host', async () => {
    await page.goto(`${origin}/docs`)
    const outcome = page.evaluate(() => fetch('http://127.0.0.2:9/').then(String, (error) => String(error)))
    expect(await outcome).toContain('TypeError')
    expect(complaints.join()).toContain('Content Security Policy')
  })

  test('a request can be tried from the reference', async () => {
    await page.goto(`${origin}/docs`, { waitUntil: 'networkidle' })
    await page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click()
    const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/contacts/import`))
    await page.getByRole('button', { name: /^Send/ }).first().click()
    expect((await answered).status()).toBe(401)
  })

  test('the link of an error leads to where it is explained', async () => {
    await page.goto(`${origin}/docs/errors#rate_limit_exceeded`)
    const heading = page.getByRole('heading', { name: 'rate_limit_exceeded' })
    await heading.waitFor()
    expect((await heading.boundingBox())?.y).toBeLessThan(1_000)
    expect(await page.evaluate("getComputedStyle(document.querySelector('h2')).fontFamily")).toContain('monospace')
    expect(complaints).toEqual([])
  })
})
