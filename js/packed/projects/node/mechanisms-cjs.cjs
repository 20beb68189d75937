const breaker = require('@sluice/core/breaker');
const limiter = require('@sluice/core/limiter');
const retry = require('@sluice/core/retry');

import('./mechanisms.mjs')
  .then(({ mechanisms }) => mechanisms(limiter, breaker, retry))
  .then((report) => console.log(JSON.stringify(report)));
