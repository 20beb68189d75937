// The built page in headless Chromium, under a policy that forbids other servers and code from texts.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { serve } from './serve.mjs';

const root = `${import.meta.dirname}/../..`;
const executablePath = (process.env.PATH ?? '')
  .split(':')
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `${folder}/${name}`))
  .find((path) => existsSync(path));
const skip = executablePath ? false : 'no chromium, chromium-browser or google-chrome on PATH';

let site;
let browser;
before(async () => {
  if (skip) return;
  site = await serve(`${import.meta.dirname}/../dist`);
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
});
after(async () => {
  await browser?.close();
  await site?.close();
});

/** Opens the page and waits until its scenario ran. */
async function open(t, fragment = '', viewport = { width: 1280, height: 900 }) {
  const page = await browser.newPage({ viewport });
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(message.text());
  });
  t.after(async () => {
    assert.deepEqual(wrong, []);
    await page.close();
  });
  await page.goto(site.address + fragment);
  await ran(page, 1);
  return page;
}

const ran = (page, runs) =>
  page.waitForFunction((wanted) => Number(document.body.dataset.runs ?? 0) >= wanted, runs);
const status = (page, text) =>
  page.waitForFunction((wanted) => document.getElementById('status').textContent.includes(wanted), text);

/** Puts a text into an editor, in place of what is there. */
async function write(page, id, text) {
  await page.click(`#${id} .cm-content`);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

const small = `version: 1
duration: 20s
policies:
  vendor: {steps: [{retry: 3}, {limit: 40/s}]}
clients:
  - {name: web, to: vendor, policy: vendor, arrivals: {poisson: 50/s}}
services:
  - {name: vendor, time: 10ms, fail: 5%}
`;

test('the presets run and give the figures of sluice simulate', { skip }, async (t) => {
  const page = await open(t, '#dead-dependency');
  const names = await page.$$eval('#preset option', (options) =>
    options.map(({ value }) => value).filter(Boolean),
  );
  assert.ok(names.length >= 16);
  for (const [i, name] of ['boundary-burst', 'llm-provider'].entries()) {
    await page.selectOption('#preset', name);
    await ran(page, i + 2);
    const printed = execFileSync(
      'go',
      ['run', './cmd/sluice', 'simulate', '--json', `sim/presets/${name}.yaml`],
      {
        cwd: root,
        encoding: 'utf8',
      },
    );
    const wanted = JSON.parse(printed);
    const [client] = Object.keys(wanted.clients);
    assert.equal(await page.textContent('#verdicts .verdict'), wanted.verdict);
    const calls = await page.textContent('#figures .card:first-child tbody tr:first-child td');
    assert.equal(calls, wanted.clients[client].calls.toLocaleString('en-US'));
  }
});

test('one cursor moves in the lanes of both runs', { skip }, async (t) => {
  const page = await open(t, '#retry-storm');
  await page.check('#compare');
  await ran(page, 2);
  const lanes = page.locator('[data-lane="calls"]');
  await lanes.first().locator('.u-over').hover();
  const values = (i) => lanes.nth(i).locator('.legend b').allTextContents();
  for (const i of [0, 1]) assert.match((await values(i))[0], /^\d+\/s$/);
  const at = await page.locator('.decisions output').allTextContents();
  assert.equal(at[0], at[1]);
  assert.match(at[0], / to /);
  await lanes.first().locator('.u-over').click();
  await lanes
    .nth(1)
    .locator('.u-over')
    .hover({ position: { x: 5, y: 5 } });
  assert.deepEqual(await page.locator('.decisions output').allTextContents(), at, 'the cursor is fixed');
});

test('errors are where they are', { skip }, async (t) => {
  const page = await open(t);
  await write(
    page,
    'scenario',
    small.replace('duration: 20s', 'duration: 20x').replace('to: vendor,', 'to: vender,'),
  );
  await status(page, '2 errors: duration: found the text "20x"');
  await page.waitForSelector('.cm-lintRange-error');
  const marked = await page.$$eval('.cm-lintRange-error', (all) => all.map((one) => one.textContent));
  assert.deepEqual(marked, ['20x', 'vender']);
  await write(page, 'scenario', 'version: [');
  await status(page, '1 error');
  const before = await page.getAttribute('body', 'data-runs');
  await page.click('#run');
  await status(page, '1 error');
  assert.equal(await page.getAttribute('body', 'data-runs'), before);
});

test('names and values are completed from the schema', { skip }, async (t) => {
  const page = await open(t);
  const offered = async (text, wanted) => {
    await write(page, 'scenario', text);
    await page.keyboard.press('Control+Space');
    await page.waitForSelector('.cm-tooltip-autocomplete li');
    const labels = await page.$$eval('.cm-tooltip-autocomplete .cm-completionLabel', (all) =>
      all.map((one) => one.textContent),
    );
    for (const one of wanted) assert.ok(labels.includes(one), `${one} is not among ${labels} after ${text}`);
    await page.keyboard.press('Escape');
    return labels;
  };
  const top = await offered('version: 1\n', ['duration', 'clients', 'services', 'policies']);
  assert.ok(!top.includes('version'), 'what is there is not offered');
  await offered('policies:\n  a:\n    steps:\n      - ', ['retry', 'breaker', 'limit', 'bulkhead']);
  await offered('policies:\n  a:\n    steps:\n      - limit: {', ['rate', 'burst', 'algorithm']);
  await offered('policies:\n  a:\n    steps:\n      - limit: {algorithm: ', ['token-bucket', 'sliding-log']);
  await offered('clients:\n  - name: web\narrivals: 1\nservices:\n  - time: {', ['exponential', 'lognormal']);
  await offered('services:\n  - name: a\n    faults:\n      - at: 5s\n        ', ['slow', 'fail', 'for']);
  await write(page, 'scenario', 'dur');
  await page.keyboard.press('Control+Space');
  await page.waitForSelector('.cm-tooltip-autocomplete li');
  await page.waitForTimeout(100); // CodeMirror ignores a choice that comes too soon after the list
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    () => document.querySelector('#scenario .cm-content').textContent === 'duration: ',
  );
});

test('two policies are compared, and a link has all of it', { skip }, async (t) => {
  const page = await open(t);
  await write(page, 'scenario', small);
  assert.equal(await page.inputValue('#preset'), '', 'what was edited is no preset');
  await page.check('#compare');
  await page.waitForSelector('#other .cm-content', { state: 'visible' });
  assert.match(
    await page.textContent('#other .cm-content'),
    /limit: 40/,
    'the policies of the scenario at first',
  );
  await write(page, 'other', 'policies:\n  vendor: {steps: [{limit: 10/s}]}\n');
  await page.fill('#seed', '18446744073709551615');
  const before = Number(await page.getAttribute('body', 'data-runs'));
  await page.click('#run');
  await ran(page, before + 1);
  const goodput = (on) =>
    on.$$eval('#figures .card:first-child tbody tr', (rows) =>
      [...rows.find((row) => row.textContent.startsWith('goodput')).querySelectorAll('td')].map(
        (one) => one.textContent,
      ),
    );
  const found = await goodput(page);
  assert.ok(Number.parseFloat(found[0]) > 30 && Number.parseFloat(found[1]) < 12, String(found));
  assert.equal(await page.locator('.lanes').count(), 2);
  await page.click('#share');
  await page.waitForFunction(() => location.hash.startsWith('#1.'));
  const other = await open(t, new URL(page.url()).hash);
  assert.deepEqual(await goodput(other), found);
  assert.equal(await other.inputValue('#seed'), '18446744073709551615');
  assert.equal(await other.isChecked('#compare'), true);
});

test('a damaged link says so', { skip }, async (t) => {
  const page = await open(t, '#1.AAAA');
  await status(page, 'The link is damaged');
});

test('a long run shows its progress and is cancelled', { skip }, async (t) => {
  const page = await open(t);
  await write(page, 'scenario', small.replace('20s', '100d'));
  await page.click('#run');
  await page.waitForSelector('#progress:not([hidden])');
  assert.equal(await page.textContent('#run'), 'Cancel');
  await page.click('#run');
  assert.equal(await page.textContent('#run'), 'Run');
  assert.equal(await page.isHidden('#progress'), true);
});

test('a narrow window has no scroll bar at its bottom', { skip }, async (t) => {
  const page = await open(t, '#retry-storm', { width: 390, height: 800 });
  await page.check('#compare');
  await ran(page, 2);
  const [wide, visible] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= visible, `${wide} > ${visible}`);
});

test('the files need no other server', { skip }, () => {
  for (const file of ['index.html', 'page.css']) {
    assert.doesNotMatch(
      readFileSync(`${import.meta.dirname}/../dist/${file}`, 'utf8'),
      /(src|href)="(https?:)?\/\/|url\(/,
    );
  }
});
