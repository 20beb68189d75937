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
    // Tests compare what a consumer prints, and a person reads the sizes.
    disableConsoleIntercept: true,
  },
});
