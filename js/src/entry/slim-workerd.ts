// The same for workerd, where each request waits for itself.

import { useGuests } from '../core.js';
import { requests } from '../pipeline/requests.js';

useGuests(requests);

export * from '../slim.js';
