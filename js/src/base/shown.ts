/** A value as an error shows it. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return JSON.stringify(value);
  if (isPromise(value)) return 'a promise';
  return Object(value) === value ? (Array.isArray(value) ? 'a list' : 'an object') : String(value);
}

export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';

/** Lets a promise reject that no code awaits. */
export function abandon(value: unknown): void {
  if (isPromise(value)) value.then(undefined, () => {});
}
