import { defineConfig } from 'vitest/config';

// Installing, bundling and starting a browser take their time on a slow machine.
const LONGEST = 240_000;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['tests/*.mjs'],
    globalSetup: './setup.mjs',
    testTimeout: LONGEST,
    hookTimeout: LONGEST,
    // What a consumer prints is compared, and the sizes are to be read.
    disableConsoleIntercept: true,
  },
});
