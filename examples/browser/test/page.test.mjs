// The page in a real browser: `npm test`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';
import { build, preview } from 'vite';

const root = new URL('..', import.meta.url).pathname;
/** Beside what Vite builds: git ignores both. */
const pictures = `${root}dist/test`;

function find(...programs) {
  for (const program of programs) {
    try {
      return execFileSync('sh', ['-c', 'command -v "$1"', 'sh', program], { encoding: 'utf8' }).trim();
    } catch {
      // The next one may be there.
    }
  }
  return undefined;
}

const executablePath = find('chromium', 'chromium-browser', 'google-chrome');
const skip = executablePath ? false : 'no chromium, chromium-browser or google-chrome on PATH';

describe('the page', { skip, timeout: 120_000 }, () => {
  let server;
  let browser;
  let page;
  let wrong;

  before(async () => {
    await build({ root, logLevel: 'warn' });
    mkdirSync(pictures, { recursive: true });
    server = await preview({ root, logLevel: 'warn', preview: { host: '127.0.0.1', port: 0 } });
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });

  after(async () => {
    await browser?.close();
    await server?.close();
  });

  async function open(query, options) {
    page = await browser.newPage({ viewport: { width: 1180, height: 860 }, ...options });
    wrong = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    await page.goto(server.resolvedUrls.local[0] + query);
  }

  async function close() {
    assert.deepEqual(wrong, []);
    await page.close();
  }

  const press = (name) => page.getByRole('button', { name, exact: true }).click();

  /** Waits until the page shows a text in a place. */
  const shows = (id, text) =>
    page.waitForFunction(
      ([place, wanted]) => document.getElementById(place).textContent === wanted,
      [id, text],
      { timeout: 10_000 },
    );

  /** Waits until a line of the log has a text. */
  const logs = (text) => page.locator('#log li', { hasText: text }).first().waitFor({ timeout: 10_000 });

  const picture = (name) => page.screenshot({ path: `${pictures}/${name}.png` });

  test('the limiter lets a burst pass, then makes callers wait, then refuses them', async () => {
    await open('?clock=manual');
    await shows('level', '10.0');
    await press('Send 10');
    await shows('level', '0.0');
    await shows('waiting', '0');
    await press('Send 10');
    await shows('waiting', '10');
    await press('Send 1');
    await shows('limited', '1');
    await logs('limiter refuses: full, retry after 200 ms');
    await press('+1 s');
    await shows('waiting', '5');
    await press('+5 s');
    await shows('waiting', '0');
    await shows('answered', '20');
    await shows('level', '10.0');
    await close();
  });

  test('the breaker opens, refuses, tries again and closes', async () => {
    await open('?clock=manual');
    await shows('state', 'closed');
    await press('Break the dependency');
    await press('Send 10');
    await press('+1 s');
    await shows('state', 'open');
    await shows('failed', '10');
    await shows('next', 'tries again in 4.2 s');
    await press('Send 1');
    await shows('broken', '1');
    await logs('breaker refuses: open, retry after 4200 ms');
    await picture('open');
    await press('+5 s');
    await shows('state', 'half-open');
    await press('Repair the dependency');
    await press('Send 1');
    await press('Send 1');
    await press('+1 s');
    await shows('state', 'closed');
    await shows('answered', '2');
    await close();
  });

  test('a breaker that fails while half-open opens again', async () => {
    await open('?clock=manual');
    await press('Break the dependency');
    await press('Send 10');
    await press('+1 s');
    await press('+5 s');
    await shows('state', 'half-open');
    await press('Send 1');
    await press('Send 1');
    await press('+1 s');
    await shows('state', 'open');
    await close();
  });

  test('sliders change the traffic and the limit', async () => {
    await open('?clock=manual');
    await page.getByLabel('Burst').fill('4');
    await shows('level', '4.0');
    await press('Send 10');
    await shows('waiting', '6');
    await page.getByLabel('Rate').fill('20');
    await page.getByLabel('Traffic').fill('10');
    await press('+5 s');
    await shows('answered', '58');
    await shows('waiting', '0');
    await close();
  });

  test('it runs by itself on the clock of the browser', async () => {
    await open('');
    await page.waitForFunction(() => Number(document.getElementById('answered').textContent) >= 2);
    await page.getByLabel('Rate').fill('1');
    await press('Send 10');
    await press('Send 10');
    await logs('limiter refuses');
    await close();
  });

  for (const colorScheme of ['light', 'dark']) {
    test(`a picture, ${colorScheme}`, async () => {
      await open('?clock=manual', { colorScheme });
      await story();
      await picture(colorScheme);
      await close();
    });
  }

  test('a picture, narrow', async () => {
    await open('?clock=manual', { viewport: { width: 390, height: 1180 } });
    await story();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    await picture('narrow');
    await close();
  });

  /** What a visitor may do in half a minute. */
  async function story() {
    await page.getByLabel('Traffic').fill('3');
    await press('+5 s');
    await press('Send 10');
    await press('Send 10');
    await press('+5 s');
    await press('Break the dependency');
    await press('+5 s');
    await press('Repair the dependency');
    await press('+5 s');
    await press('Send 10');
    await press('+5 s');
    await press('Break the dependency');
    await press('Send 10');
    await press('+1 s');
    await press('+1 s');
    await press('Send 10');
    await press('+1 s');
    await shows('time', '28.0 s');
    await shows('state', 'open');
  }
});
