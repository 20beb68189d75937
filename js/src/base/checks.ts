import { PolicyError } from './errors.js';
import { abandon, shown } from './shown.js';
import type { CallOptions, Clock, CommonOptions } from './types.js';

/** Throws what is wrong with an argument. */
export function wrongArgument(path: string, found: unknown, allowed: string): never {
  abandon(found);
  throw new PolicyError('bad-argument', `${path}: found ${shown(found)}; allowed ${allowed}`);
}

/** Throws where options have a name that is not allowed. */
export function checkNames(path: string, options: object, names: readonly string[]): void {
  for (const name in options) {
    if (!names.includes(name)) {
      throw new PolicyError(
        'bad-argument',
        `${path}: found the unknown name ${JSON.stringify(name)}; allowed ${names.join(', ')}`,
      );
    }
  }
}

/** Throws where options came behind others, as the options of a pipeline do. */
export function checkAlone(path: string, more: unknown): void {
  // A number is the index of `map`.
  if (Object(more) === more)
    wrongArgument(`${path}, argument 2`, more, 'none: all options are in one object');
}

const CLOCK = ['now', 'setTimeout', 'clearTimeout'] as const;

/** Throws where a clock or a function of options is none. Returns the options, none for a short form. */
export function checkHooks(path: string, options: unknown): CommonOptions {
  const given = (Object(options) === options ? options : {}) as { [name: string]: unknown };
  for (const name of ['outcome', 'retryAfter', 'delay', 'fallback', 'discard', 'fetch', 'key']) {
    if (given[name] !== undefined && typeof given[name] !== 'function') {
      wrongArgument(`${path}.${name}`, given[name], 'a function');
    }
  }
  const { clock, stack } = given;
  if (clock !== undefined && !CLOCK.every((name) => typeof (clock as Clock | null)?.[name] === 'function')) {
    wrongArgument(`${path}.clock`, clock, `an object with ${CLOCK.join(', ')}`);
  }
  if (stack !== undefined && typeof stack !== 'boolean')
    wrongArgument(`${path}.stack`, stack, 'true or false');
  return given;
}

/** Throws where options of a call are wrong. */
export function checkCall(options: CallOptions, names: readonly string[]): void {
  if (Object(options) !== options || typeof options === 'function') {
    wrongArgument('options', options, `an object with ${names.join(', ')}`);
  }
  checkNames('options', options, names);
  const { signal } = options;
  if (signal != null && typeof signal.addEventListener !== 'function') {
    wrongArgument('signal', signal, 'an AbortSignal');
  }
}

/** Throws where a key is no text. */
export function checkKey(key: unknown): void {
  if (typeof key !== 'string') wrongArgument('key', key, 'a string');
}

/** Throws where what has to run is no function. */
export function checkTask(task: unknown): void {
  if (typeof task !== 'function') wrongArgument('task', task, 'a function');
}

/** Returns a cost that is one. */
export const checkCost = (cost = 1): number => checkPermits(cost, 'cost');

/** Returns a number of permits that is one. */
export function checkPermits(permits: number, path = 'used'): number {
  if (permits >>> 0 === permits) return permits;
  return wrongArgument(path, permits, 'a whole number, 0 or more');
}
