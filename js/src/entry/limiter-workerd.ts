// The same for workerd, where each request waits for itself.

import { requests } from '../requests.js';
import { useGuests } from '../wakes.js';

useGuests(requests);

export * from './limiter.js';
