// Takes the pictures of docs/playground.md from what is built: npm run pictures.

import { chromium } from 'playwright-core';
import { serve } from './test/serve.mjs';

const [executablePath = 'chromium'] = process.argv.slice(2);
const site = await serve(`${import.meta.dirname}/dist`);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
for (const colorScheme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme });
  await page.goto(`${site.address}#retry-storm`);
  await page.waitForFunction(() => document.body.dataset.runs === '1');
  await page.check('#compare');
  await page.waitForFunction(() => document.body.dataset.runs === '2');
  await page.locator('[data-lane="calls"] .u-over').first().hover();
  // The time of the run is another one each time.
  await page.evaluate(() => document.getElementById('status').replaceChildren());
  await page.screenshot({ path: `${import.meta.dirname}/../docs/playground-${colorScheme}.png` });
}
await browser.close();
await site.close();
