const core = require('@sluice/core/js');
const testing = require('@sluice/core/js/testing');

const exports_ = { core: Object.keys(core).sort(), testing: Object.keys(testing).sort() };
Promise.all([import('./exercise.mjs'), import('./bare.mjs')]).then(([{ exercise }, { only }]) =>
  only(async () => ({ exports: exports_, wasm: typeof WebAssembly, report: await exercise(core, testing) })),
);
