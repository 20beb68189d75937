import { beforeAll, describe, expect, test } from 'vitest';
import { REPORT } from '../expected.mjs';
import { find, node } from '../run.mjs';

const chromium = find('chromium', 'chromium-browser', 'google-chrome');
const name = `Vite and headless Chromium${chromium ? '' : ' (skipped: no chromium, chromium-browser or google-chrome on PATH)'}`;

describe.skipIf(!chromium)(name, () => {
  let reports;
  beforeAll(async () => {
    reports = await node('web', 'drive.mjs', chromium);
  });

  // The page has a policy of its own beside the policy of the server, without wasm-unsafe-eval.
  test('./js: the build, where WebAssembly is refused', () => {
    expect(reports.bare).toEqual({ report: { page: REPORT, compiles: false }, wrong: [] });
  });

  // The page uses the default entry, ./slim with fetch, ./limiter, and a web worker.
  test.for([
    ['dev', 'the dev server'],
    ['built', 'the build, under a policy without unsafe-eval'],
  ])('%s: %s', ([mode]) => {
    expect(reports[mode]).toEqual({
      report: { page: REPORT, worker: REPORT, slim: true, small: true },
      wrong: [],
    });
  });
});
