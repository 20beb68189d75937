/** Nanoseconds of each unit. */
const UNITS: { readonly [unit: string]: bigint } = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};

const DURATION = /^[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h|d))+)$/;
const MOST = 2n ** 63n - 1n;

/** Reads a duration in Go's form, with `d` for days, or whole nanoseconds. Undefined for what is none. */
export function nanosecondsOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return inRange(value);
  if (typeof value === 'number') return Number.isInteger(value) ? inRange(BigInt(value)) : undefined;
  if (typeof value !== 'string' || !DURATION.test(value)) return undefined;
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of value.matchAll(/(\d*)(?:\.(\d*))?([^\d.+-]+)/g)) {
    const of = UNITS[unit] as bigint;
    sum += BigInt(whole || 0) * of + (BigInt(fraction || 0) * of) / 10n ** BigInt(fraction.length);
  }
  return inRange(value.startsWith('-') ? -sum : sum);
}

const inRange = (n: bigint): bigint | undefined => (n <= MOST && n >= -MOST - 1n ? n : undefined);

/** Prints a duration in Go's form. */
export function durationText(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const n = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (n < 1_000n) return `${sign}${n}ns`;
  if (n < 1_000_000n) return `${sign}${decimal(n, 1_000n)}µs`;
  if (n < 1_000_000_000n) return `${sign}${decimal(n, 1_000_000n)}ms`;
  const minutes = n / 60_000_000_000n;
  const seconds = `${decimal(n % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  const hours = minutes / 60n;
  return `${sign + (hours ? `${hours}h` : '')}${minutes % 60n}m${seconds}`;
}

function decimal(n: bigint, unit: bigint): string {
  const rest = n % unit;
  if (rest === 0n) return String(n / unit);
  const digits = String(unit).length - 1;
  return `${n / unit}.${String(rest).padStart(digits, '0').replace(/0+$/, '')}`;
}
