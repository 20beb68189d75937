const core = require('@sluice/core');
const testing = require('@sluice/core/testing');

const exports_ = { core: Object.keys(core).sort(), testing: Object.keys(testing).sort() };
import('./exercise.mjs')
  .then(({ exercise }) => exercise(core, testing))
  .then((report) => console.log(JSON.stringify({ exports: exports_, report })));
