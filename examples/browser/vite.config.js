import { defineConfig } from 'vite';

export default defineConfig({
  // `@sluice/core` is a link to ../../js here; from the registry it would need no permission.
  server: { fs: { allow: ['.', '../../js'] } },
  // The module is in the bundle as text, so that it needs no second request.
  build: { chunkSizeWarningLimit: 1_000 },
});
