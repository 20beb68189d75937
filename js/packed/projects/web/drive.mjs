// Opens the page in Chromium, as Vite's dev server gives it and as Vite built it, and prints its reports.

import { chromium } from 'playwright-core';
import { build, createServer, preview } from 'vite';

const host = '127.0.0.1';
const common = { root: import.meta.dirname, logLevel: 'warn', clearScreen: false };

/** The least that a page with a policy has to allow: the package asks for no `unsafe-eval`. */
const csp = "default-src 'self' data:; script-src 'self' 'wasm-unsafe-eval'";

const browser = await chromium.launch({ executablePath: process.argv[2], args: ['--no-sandbox'] });

async function open(url) {
  const page = await browser.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text());
  });
  await page.goto(url);
  const report = await page.evaluate(async () => {
    try {
      return await globalThis.report;
    } catch (error) {
      return String(error);
    }
  });
  await page.close();
  return { report, wrong };
}

const reports = {};
try {
  const dev = await createServer({ ...common, server: { host, port: 0 } });
  try {
    await dev.listen();
    reports.dev = await open(dev.resolvedUrls.local[0]);
  } finally {
    await dev.close();
  }
  const input = ['index.html', 'bare.html'].map((page) => `${import.meta.dirname}/${page}`);
  await build({ ...common, build: { rolldownOptions: { input } } });
  const built = await preview({
    ...common,
    preview: { host, port: 0, headers: { 'content-security-policy': csp } },
  });
  try {
    reports.built = await open(built.resolvedUrls.local[0]);
    reports.bare = await open(`${built.resolvedUrls.local[0]}bare.html`);
  } finally {
    await built.close();
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(reports));
