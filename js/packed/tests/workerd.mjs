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

  test('a handler', () => expect(reports.report).toEqual(REPORT));
  test('requests that wait for one limiter', () =>
    expect(reports.limiter).toEqual(Array(4).fill({ ok: true })));
  test('requests that are cut, retried and queued together, each in its own', () =>
    expect(reports.read).toEqual(['a', 'b', 'c', 'd']));
  test('requests that retry at the same time', () => expect(reports.retry).toEqual(Array(4).fill(2)));
});
