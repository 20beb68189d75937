const { readFileSync } = require('node:fs');
const { initSync, rateLimiter } = require('@sluice/core/slim');

initSync(readFileSync(require.resolve('@sluice/core/core.wasm')));
console.log(JSON.stringify(rateLimiter('1/1h').tryAcquire()));
