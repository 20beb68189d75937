import { expect, test } from 'vitest';
import { LIMITS } from '../limits.mjs';
import { node } from '../run.mjs';

const number = (n) => (n === undefined ? '-' : n.toLocaleString('en'));
const row = (name, ...numbers) => name.padEnd(24) + numbers.map((n) => n.padStart(11)).join('');

test('no entry is larger than its limit', async () => {
  const sizes = await node('bundles', 'measure.mjs');
  const rows = Object.entries(sizes).map(([name, { raw, gzip }]) => {
    const { now, goal } = LIMITS[name];
    return row(name, ...[raw, now.raw, goal.raw, gzip, now.gzip, goal.gzip].map(number));
  });
  console.log([row('bytes', 'raw', 'limit', 'goal', 'gzip', 'limit', 'goal'), ...rows].join('\n'));

  expect(Object.keys(sizes).sort()).toEqual(Object.keys(LIMITS).sort());
  const over = Object.entries(sizes).filter(
    ([name, { raw, gzip }]) => raw > LIMITS[name].now.raw || gzip > LIMITS[name].now.gzip,
  );
  expect(over).toEqual([]);
});
