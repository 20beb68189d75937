// Takes the pictures of a page, light and dark, with the cursor at a time in seconds:
//
//	npm run pictures -- PAGE NAME SECONDS
//
// writes NAME-light.png and NAME-dark.png.

import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [page, name, seconds] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const colorScheme of ['light', 'dark']) {
  const tab = await browser.newPage({ viewport: { width: 1180, height: 800 }, colorScheme });
  await tab.goto(`${pathToFileURL(page).href}#t=${seconds}`);
  await tab.evaluate(() => document.querySelector('.over').scrollIntoView());
  await tab.screenshot({ path: `${name}-${colorScheme}.png` });
}
await browser.close();
