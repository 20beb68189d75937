// The page of a report in a real browser. PAGE is its file, which the Go test
// TestPageInABrowser writes.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

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
const address = pathToFileURL(process.env.PAGE).href;
const data = JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(process.env.PAGE, 'utf8'))[1]);
const lane = (id) => data.groups[0].lanes.find((one) => one.id === id);
const samplesOf = (part) => data.samples.filter((one) => Math.floor(one.at / data.width) === part);

describe('the page', { skip, timeout: 120_000 }, () => {
  let browser;
  let page;
  let wrong;
  let requests;

  before(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });
  after(() => browser?.close());

  async function open(options, fragment = '') {
    page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
    wrong = [];
    requests = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(address + fragment);
  }

  async function close() {
    assert.deepEqual(wrong, []);
    assert.deepEqual(requests.filter((url) => !url.startsWith('data:') && url.split('#')[0] !== address), [], 'nothing but the page is read');
    await page.close();
  }

  const plot = (id) => page.locator(`[data-lane="${id}"] .u-over`).first();
  const values = (id) => page.locator(`[data-lane="${id}"]`).first().locator('.legend b').allTextContents();
  const at = () => page.locator('#at').textContent();
  const log = () => page.locator('#log > li').count();

  /** Moves the pointer to the middle of a part. */
  async function pointAt(id, part) {
    await plot(id).scrollIntoViewIfNeeded();
    const box = await plot(id).boundingBox();
    await page.mouse.move(box.x + (box.width * (part + 0.5) * data.width) / data.duration, box.y + box.height / 2);
  }

  /** The places of the cursors of all lanes. */
  const cursors = () =>
    page.locator('.u-cursor-x').evaluateAll((all) => all.map((one) => new DOMMatrix(getComputedStyle(one).transform).e));

  /** Requires that the values, the cursors and the log show a part. */
  async function requirePart(part) {
    const written = (await values('calls')).map((text) => Number.parseFloat(text.replaceAll(',', '')));
    lane('calls').series.forEach((one, i) => {
      assert.ok(Math.abs(written[i] - one.values[part]) <= 0.006 * one.values[part] + 1e-9, `${one.name}: ${written[i]} of ${one.values[part]}`);
    });
    const span = lane('breakers').rows[0].spans.findLast((one) => one.from <= (part + 0.5) * data.width);
    assert.deepEqual(await values('breakers'), [span.text]);
    const places = await cursors();
    assert.ok(places.every((one) => Math.abs(one - places[0]) <= 1), `one cursor: ${places}`);
    assert.equal(await log(), Math.max(samplesOf(part).length, 1));
    const first = samplesOf(part)[0];
    if (first) assert.match(await page.locator('#log > li').first().textContent(), new RegExp(`${first.at.toFixed(3)} s`));
  }

  const open1 = lane('breakers').rows[0].spans.find((one) => one.text === 'open');
  const opens = Math.floor(open1.from / data.width);

  test('values, cursors and decisions follow the pointer', async () => {
    await open();
    for (const part of [opens, opens + 1, 3, data.parts - 2]) {
      await pointAt('calls', part);
      await requirePart(part);
    }
    await pointAt('heat', opens);
    await requirePart(opens);
    const text = await page.locator('#log').textContent();
    assert.match(text, /change breaker: open/);
    assert.match(text, /reject breaker: open, retry after/);
    assert.match(text, /held \d+\/24.* → held \d+\/24/, 'a state before and after');
    await page.mouse.move(2, 2);
    assert.equal(await at(), '');
    assert.deepEqual(await values('breakers'), ['']);
    await close();
  });

  test('the keys move the cursor', async () => {
    await open();
    await page.locator('#lanes').focus();
    await page.keyboard.press('ArrowRight');
    await requirePart(0);
    await page.keyboard.press('PageDown');
    await page.keyboard.press('ArrowLeft');
    await requirePart(9);
    await page.keyboard.press('Escape');
    assert.equal(await at(), '');
    await page.keyboard.press('ArrowLeft');
    await requirePart(data.parts - 1);
    await close();
  });

  test('a click fixes the cursor, and the address keeps it', async () => {
    await open();
    await pointAt('calls', opens);
    await page.mouse.down();
    await page.mouse.up();
    await pointAt('calls', 5);
    assert.equal(await page.locator('#hint').textContent(), 'The cursor is fixed; click again or press Escape to move it.');
    await requirePart(opens);
    const fragment = await page.evaluate(() => location.hash);
    await page.mouse.down();
    await page.mouse.up();
    await pointAt('calls', 6);
    await requirePart(6);
    await close();
    await open({}, fragment);
    await requirePart(opens);
    await close();
  });

  test('a drag zooms all lanes, a double click shows everything', async () => {
    await open();
    await plot('calls').scrollIntoViewIfNeeded();
    const box = await plot('calls').boundingBox();
    await page.mouse.move(box.x + box.width / 4, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 20, { steps: 4 });
    await page.mouse.up();
    const near = async (id, share, second) => {
      await plot(id).scrollIntoViewIfNeeded();
      const place = await plot(id).boundingBox();
      await page.mouse.move(place.x + place.width * share, place.y + 20);
      const found = await at();
      const [, minutes, seconds] = /^(?:(\d+)m)?(?:([\d.]+)s)?/.exec(found);
      const from = 60 * Number(minutes ?? 0) + Number(seconds ?? 0);
      assert.ok(Math.abs(from - second) <= 2 * data.width, `${id}: ${found} is near ${second}s`);
    };
    await near('calls', 0.5, data.duration * 0.375);
    await near('latency', 0.02, data.duration * 0.255);
    await plot('latency').dblclick();
    await near('calls', 0.5, data.duration * 0.5);
    await near('refusals', 0.1, data.duration * 0.1);
    await close();
  });

  test('light and dark', async () => {
    await open({ colorScheme: 'light' });
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    // The colours of what is drawn, which must change with the scheme, too.
    const drawn = () =>
      page.locator('[data-lane="heat"] canvas').first().evaluate((canvas) => {
        const { data: bytes } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let blue = 0;
        let count = 0;
        for (let i = 0; i < bytes.length; i += 4) {
          if (bytes[i + 3] === 255) {
            blue += bytes[i + 1];
            count++;
          }
        }
        return Math.round(blue / count);
      });
    const light = [await back(), await drawn()];
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, light[0]);
    assert.notEqual(await drawn(), light[1]);
    await close();
  });

  test('a narrow window has all lanes and needs no scrolling sideways', async () => {
    await open({ viewport: { width: 390, height: 800 } });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    const lanes = data.groups.reduce((sum, group) => sum + group.lanes.length, 0);
    assert.equal(await page.locator('.lane').count(), lanes);
    for (const canvas of await page.locator('.lane canvas').all()) {
      assert.ok((await canvas.boundingBox()).width > 250);
    }
    await page.setViewportSize({ width: 1200, height: 800 });
    await page.waitForFunction(() => document.querySelector('.lane canvas').clientWidth > 600);
    await close();
  });
});
