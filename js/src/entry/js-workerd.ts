// The same for workerd, where each request waits for itself.

import { instantiate } from 'translated:core';
import { start, useGuests } from '../core.js';
import { requests } from '../pipeline/requests.js';

start(instantiate);
useGuests(requests);

export * from '../index.js';
