import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const OUT = '../dist/web';

/** Once, when they are built, and not for each browser that asks. */
const compress = {
  name: 'compress',
  closeBundle() {
    const folder = join(import.meta.dirname, OUT, 'assets');
    for (const file of readdirSync(folder).filter((name) => /\.(js|css|svg|json)$/.test(name))) {
      writeFileSync(join(folder, `${file}.br`), brotliCompressSync(readFileSync(join(folder, file))));
    }
  },
};

/** @public Vite loads it by its path. */
export default defineConfig({
  base: '/console/',
  plugins: [react(), compress],
  // The server writes a nonce of its own into every page that it hands out.
  html: { cspNonce: '__CSP_NONCE__' },
  // `npx vite services/dashboard/web` beside `npm start`, while the page is worked on.
  server: { proxy: { '/console/api': 'http://localhost:3001' } },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // What is inlined as `data:` is against our own Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
});
