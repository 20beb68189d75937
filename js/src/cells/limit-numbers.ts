import { numbersOf } from '../reader/backoff.js';

/** What the order has for each bit of the numbers behind it: of a block, of a warm-up, of windows of the calendar. */
const more = (bits: number): number => bits << 1;

/** The numbers of a limit as the module of limiters has them: without what a step of a policy alone has: the cost, when it is taken, the most beyond it, and for which outcomes. */
export function limitNumbers(numbers: readonly number[]): readonly number[] {
  const [algorithm, count, period, burst, wait, queue, order, , , , words, bits = 0, ...rest] =
    numbers as number[];
  const settings = [algorithm, count, period, burst, wait, queue, order] as number[];
  if (!words) return settings;
  settings[6] = (order as number) + more(bits);
  const [wall = 0, ...zone] = bits & 4 ? rest.splice(-8).reverse() : [];
  const epoch = [Math.floor(wall / 1000), Math.round((wall % 1000) * 1e6)];
  const warm = bits & 2 ? rest.splice(-2) : [];
  const [after = 0, ...time] = rest;
  return [
    ...settings,
    ...(bits & 1 ? [after, ...numbersOf([...time, 0, 0])] : []),
    ...warm,
    ...(bits & 4 ? [...zone.reverse(), ...epoch] : []),
  ];
}
