import type { Compile } from '../engine.js';
import { configure, Fields, type Numbers, wrong } from './values.js';

/** How the options of a mechanism become numbers, and which export takes them. */
export interface Reading {
  /** The names of its settings. */
  readonly names: readonly string[];
  /** What a short form stands for; undefined where the mechanism has none. */
  readonly short?: (value: unknown) => object | undefined;
  readonly numbers: (fields: Fields) => Numbers;
  readonly make: () => () => number;
}

const NAME = /^[a-z0-9][a-z0-9-]*$/;

/** Lets this package read the options, where the module is one of a single mechanism. */
export const compileBy =
  (reading: Reading): Compile =>
  (mechanism, given) => {
    const options = reading.short?.(given) ?? given ?? {};
    const fields = new Fields(mechanism, options, [...reading.names, 'name', 'shadow', 'scope']);
    const name = fields.get('name') ?? mechanism;
    if (typeof name !== 'string' || !NAME.test(name) || name === 'deadline') {
      wrong(`${mechanism}.name`, name, 'lower-case letters, digits and hyphens, and not deadline');
    }
    const shadow = fields.get('shadow') ?? false;
    if (typeof shadow !== 'boolean') wrong(`${mechanism}.shadow`, shadow, 'true or false');
    const scope = fields.get('scope') ?? 'local';
    if (scope !== 'local') wrong(`${mechanism}.scope`, scope, 'local');
    return { maker: configure(reading.numbers(fields), reading.make()), name, shadow };
  };
