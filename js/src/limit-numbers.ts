import { numbersOf } from './reader/backoff.js';

/** What the order has where the numbers of a block, and of a warm-up, are behind it. */
const MORE = [0, 2, 4, 6];

/** The numbers of a limit as the module of limiters has them: without what a step of a policy alone has, the cost, when it is taken, and for which outcomes. */
export function limitNumbers(numbers: readonly number[]): readonly number[] {
  const [algorithm, count, period, burst, wait, queue, order, , , words, bits = 0, ...rest] =
    numbers as number[];
  const settings = [algorithm, count, period, burst, wait, queue, order] as number[];
  if (!words) return settings;
  settings[6] = (order as number) + (MORE[bits] as number);
  const warm = bits & 2 ? rest.splice(-2) : [];
  const [after = 0, ...time] = rest;
  return [...settings, ...(bits & 1 ? [after, ...numbersOf([...time, 0, 0])] : []), ...warm];
}
