// The same for workerd, where each request waits for itself.

import { useGuests } from '../base/wakes.js';
import { requests } from '../pipeline/requests.js';

useGuests(requests);

export * from './retry.js';
