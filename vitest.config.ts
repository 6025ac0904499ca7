import { defineConfig } from 'vitest/config';

/** Tests run against the sources of every workspace package; only child processes use what `npm run build` made. */
export default defineConfig({
  resolve: { conditions: ['@belay/source'] },
  // No 'import' here: it would reach `require` too, and CommonJS packages would be given modules. No 'module' either, which
  // Node.js does not know: packages keep files under it that only bundlers can read.
  ssr: { resolve: { conditions: ['@belay/source', 'node', 'default'] } },
  test: {
    include: ['{packages,apps}/*/test/**/*.test.{ts,tsx}', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // More than two cores' worth: many tests wait for a server, a browser or a lease.
    maxWorkers: 3,
    // Bounds for a machine that is busy with something else; nothing waits for them.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    unstubEnvs: true,
  },
});
