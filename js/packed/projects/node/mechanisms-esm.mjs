import * as breaker from '@sluice/core/breaker';
import * as limiter from '@sluice/core/limiter';
import * as retry from '@sluice/core/retry';
import { mechanisms } from './mechanisms.mjs';

console.log(JSON.stringify(await mechanisms(limiter, breaker, retry)));
