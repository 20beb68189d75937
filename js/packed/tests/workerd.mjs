import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { REPORT } from '../expected.mjs';
import { node, project } from '../run.mjs';

function runs() {
  try {
    execFileSync('node_modules/.bin/workerd', ['--version'], { cwd: project('workerd'), stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const has = runs();

describe.skipIf(!has)(`workerd${has ? '' : ' (skipped: it has no binary for this machine)'}`, () => {
  let reports;
  beforeAll(async () => {
    reports = await node('workerd', 'drive.mjs');
  });

  test.for(['default', 'js'])('%s: a handler', (entry) => expect(reports[entry].report).toEqual(REPORT));
  test.for(['default', 'js'])('%s: requests that wait for one limiter', (entry) =>
    expect(reports[entry].limiter).toEqual(Array(4).fill({ ok: true })));
  test.for(['default', 'js'])(
    '%s: requests that are cut, retried and queued together, each in its own',
    (entry) => expect(reports[entry].read).toEqual(['a', 'b', 'c', 'd']),
  );
  test.for(['default', 'js'])('%s: requests that retry at the same time', (entry) =>
    expect(reports[entry].retry).toEqual(Array(4).fill(2)));
});
