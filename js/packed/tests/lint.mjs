// What tools say about the tarball.

import { join } from 'node:path';
import { inject, test } from 'vitest';
import { run } from '../run.mjs';

const tool = (name, ...args) =>
  run(inject('root'), join(import.meta.dirname, '../../node_modules/.bin', name), ...args);

test('publint finds nothing', () => tool('publint', '--strict', 'core.tgz'));

// node10 knows no exports map, and a module of wasm is no module of JavaScript.
test('arethetypeswrong finds nothing', () =>
  tool('attw', 'core.tgz', '--profile', 'node16', '--exclude-entrypoints', './core.wasm'));
