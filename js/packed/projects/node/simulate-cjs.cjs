const testing = require('@sluice/core/testing');

import('./simulate.mjs')
  .then(({ simulated }) => simulated(testing))
  .then((report) => console.log(JSON.stringify(report)));
