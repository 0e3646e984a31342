// The library in a real browser, in windows and workers, with threads where a page is isolated and without elsewhere.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Report } from './page.js'

/** Where Debian's package puts it; elsewhere these tests are skipped. */
const CHROMIUM = '/usr/bin/chromium'

const ISOLATING = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
const WORKER = "import { report } from '/page.js'; postMessage(await report)"

const inWindow = "import('/page.js').then(({ report }) => report)"
const inWorker = `new Promise((resolve, reject) => {
  const worker = new Worker('/worker.js', { type: 'module' })
  worker.onmessage = ({ data }) => resolve(data)
  worker.onerror = ({ message }) => reject(new Error(message))
})`

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.ts', import.meta.url))],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}

/** Serves the program at /page.js, a worker that executes it at /worker.js, and an empty page everywhere else. */
function serve(program: string, headers: Readonly<Record<string, string>>) {
  const scripts = new Map([
    ['/page.js', program],
    ['/worker.js', WORKER],
  ])
  const server = createServer(({ url = '/' }, response) => {
    const script = scripts.get(url)
    response.writeHead(200, { ...headers, 'Content-Type': script === undefined ? 'text/html' : 'text/javascript' })
    response.end(script ?? '<!doctype html>')
  }).listen()
  return { address: `http://localhost:${(server.address() as AddressInfo).port}/`, close: () => server.close() }
}

describe.skipIf(!existsSync(CHROMIUM))('in Chromium', () => {
  let browser: Browser
  let isolated: ReturnType<typeof serve>
  let ordinary: ReturnType<typeof serve>

  beforeAll(async () => {
    const program = await bundle()
    isolated = serve(program, ISOLATING)
    ordinary = serve(program, {})
    const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking']
    browser = await chromium.launch({ executablePath: CHROMIUM, args })
  })

  afterAll(async () => {
    await browser.close()
    isolated.close()
    ordinary.close()
  })

  async function report(address: string, expression: string): Promise<Report> {
    const page = await browser.newPage()
    await page.goto(address)
    const result = await page.evaluate<Report>(expression)
    await page.close()
    return result
  }

  const places = [
    ['a window', true, inWindow],
    ['a worker', false, inWorker],
  ] as const

  test.each(places)(
    '%s of an isolated page shares work with another thread, to the same bits',
    async (_, isWindow, run) => {
      const { inWindow, isolated: isIsolated, granted, workers, alone, together } = await report(isolated.address, run)
      expect({ inWindow, isIsolated, granted, workers }).toEqual({
        inWindow: isWindow,
        isIsolated: true,
        granted: 2,
        workers: 1,
      })
      expect(alone.every((value) => Number.isFinite(value) && value !== 0)).toBe(true)
      expect(together).toEqual(alone)
    },
  )

  test.each(places)('%s of any other page computes alone, and says so', async (_, isWindow, run) => {
    const { inWindow, isolated: isIsolated, ...rest } = await report(ordinary.address, run)
    expect({ inWindow, isIsolated }).toEqual({ inWindow: isWindow, isIsolated: false })
    expect(rest).toMatchObject({ byDefault: 1, granted: 1, workers: 0, together: rest.alone })
    expect(rest.alone.every((value) => Number.isFinite(value) && value !== 0)).toBe(true)
  })
})
