// The default entry: the module as text, made at once and without awaiting anything.

import bytes from 'inline:core';
import { start } from '../core.js';
import { instancesOf } from '../engine/instances.js';

start(instancesOf(new WebAssembly.Module(bytes)));

export * from '../index.js';
