// Windows of the calendar: rates by a day, a week or a month, and time zones.

import { TEXT } from './node.js';
import { isText, LIMIT_RATE_TEXT, MAX_COUNT, parseRate, parseWhole, rateProblem } from './quantities.js';
import type { Values } from './row.js';
import type { Reader } from './settings.js';

/** The units, and how long a period each counts as, in days. */
const UNITS = [
  ['day', 1],
  ['week', 7],
  ['month', 31],
] as const;
const DAY = 86_400_000_000_000n;
const CALENDAR = /^(.*)\/(day|week|month)$/s;

const ZONE_TEXT =
  'UTC, an offset as in +02:00, or a rule of POSIX as in CET-1CEST,M3.5.0,M10.5.0/3; sluice zone NAME prints that of a zone as in Europe/Berlin';

/** What seconds of a zone are more than they are, as numbers for the core. */
const BIAS = 1 << 20;
const UTC = [BIAS, BIAS, 0, BIAS, 0, BIAS];

/** The count and the period of the rate of a limit, and the number of the unit of its calendar, 0 for none. */
function parseCalendar(text: string): readonly [count: number, period: bigint, unit: number] | undefined {
  const [, count = '', name = ''] = CALENDAR.exec(text) ?? [];
  const unit = UNITS.findIndex(([word]) => word === name);
  const found = UNITS[unit];
  return found && [parseWhole(count), BigInt(found[1]) * DAY, unit + 1];
}

/** The count and the period of the rate of a limit that was read before. */
export function periodOf(text: string): readonly [count: number, period: bigint] {
  const [count, period] = parseCalendar(text) ?? (parseRate(text, 1) as readonly [number, bigint]);
  return [count, period];
}

/** The rate of a limit. One by the calendar sets the unit in front of the values of the zone. */
export const rate: Reader = (s, n) => {
  const found = n.kind === TEXT ? parseCalendar(n.text) : undefined;
  if (!found) {
    const plain = parseRate(n.text, 1);
    if (n.kind === TEXT && typeof plain !== 'string') return plain;
    rateProblem(s.problems, n, 1, LIMIT_RATE_TEXT);
    return undefined;
  }
  const [count, period, unit] = found;
  if (!(count >= 1 && count <= MAX_COUNT)) {
    s.problems.mistyped(n, `${LIMIT_RATE_TEXT}; the count from 1 to ${MAX_COUNT}`);
    return undefined;
  }
  s.set('zone', unit, ...UTC, 0n);
  return [count, period];
};

const NAME = '(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)';
const TIME = '([+-]?\\d{1,3}(?::[0-5]\\d){0,2})';
const CHANGE = `,M(\\d\\d?)\\.(\\d)\\.(\\d)(?:/${TIME})?`;
const POSIX = new RegExp(`^${NAME}${TIME}(?:${NAME}${TIME}?${CHANGE}${CHANGE})?$`);

/** Seconds of a time as in -3:30; NaN for one of more hours. */
function seconds(text: string, hours: number): number {
  const [h = '', m = '0', s = '0'] = text.replace(/^[+-]/, '').split(':');
  const size = Number(h) * 3600 + Number(m) * 60 + Number(s);
  return Number(h) > hours || (hours < 100 && h.length > 2) ? Number.NaN : text[0] === '-' ? -size : size;
}

/** The numbers of a change for the core; NaN where one is wrong. */
function change(month: string, week: string, day: string, time = '2'): number[] {
  const fits =
    Number(month) >= 1 && Number(month) <= 12 && Number(week) >= 1 && Number(week) <= 5 && Number(day) < 7;
  const at = seconds(time, 167);
  const whole = fits && Math.abs(at) <= 167 * 3600;
  return whole ? [Number(month) * 64 + Number(week) * 8 + Number(day), at + BIAS] : [Number.NaN];
}

/** The numbers of a zone for the core; undefined for a text that is none. */
function parseZone(text: string): readonly number[] | undefined {
  if (text === 'UTC') return UTC;
  const [, sign, h, m] = /^([+-])(\d\d):([0-5]\d)$/.exec(text) ?? [];
  const [, std, summer, ...rest] = POSIX.exec(text) ?? [];
  let numbers: number[];
  if (h) {
    numbers = [seconds(`${sign}${h}:${m}`, 24) + BIAS, ...UTC.slice(1)];
  } else if (!std) {
    return undefined;
  } else {
    const offset = -seconds(std, 24);
    const [m1, w1, d1, t1, m2, w2, d2, t2] = rest as [string, string, string, string, ...string[]];
    const to = summer === undefined ? offset + 3600 : -seconds(summer, 24);
    numbers = m1
      ? [offset + BIAS, to + BIAS, ...change(m1, w1, d1, t1), ...change(m2 ?? '', w2 ?? '', d2 ?? '', t2)]
      : [offset + BIAS, ...UTC.slice(1)];
  }
  const [offset = Number.NaN, to = Number.NaN] = numbers;
  const far = Math.max(Math.abs(offset - BIAS), Math.abs(to - BIAS));
  return far <= 86_400 && numbers.every((n) => !Number.isNaN(n)) ? numbers : undefined;
}

/** The zone of a rate by the calendar: its unit, the zone, and the wall time of mark 0, which is not known here. */
export const zone: Reader = (s, n): Values | undefined => {
  if (!isText(s.problems, n, ZONE_TEXT)) return undefined;
  const numbers = parseZone(n.text);
  if (numbers) return [s.first('zone'), ...numbers, 0n];
  s.problems.mistyped(n, ZONE_TEXT);
  return undefined;
};
