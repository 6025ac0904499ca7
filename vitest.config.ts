import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { findUsed, isInstalled } from './packages/targets/src/targets/names.js';
import { LongestFirst } from './test/support/longest-first.js';

/** `npx vitest run <file>` tests the sources, so that they need no build; only child processes use the output of `npm run build`. */
const fromSources = {
  resolve: { conditions: ['@belay/source'] },
  // Without 'import', which would apply to `require` too, so that CommonJS packages would get modules. Without 'module', which
  // Node.js does not know: it leads to files that only bundlers can read.
  ssr: { resolve: { conditions: ['@belay/source', 'node', 'default'] } },
};

/** `npm test` has just built, so its tests load the built files, which need no transformation. */
const fromBuild = {
  ssr: { resolve: { conditions: ['node', 'default'] } },
  plugins: [
    {
      name: 'belay:built',
      enforce: 'pre' as const,
      /** Resolves a test's import of a file in `src` to the same file in `dist`, so that no module is loaded twice. */
      resolveId: (source: string, importer: string | undefined) => {
        if (importer === undefined || !/^(\.|\/|file:).*\/src\//.test(source)) return undefined;
        const given = source.startsWith('file:') ? fileURLToPath(source) : source;
        const id = path
          .resolve(path.dirname(importer), given)
          .replace('/src/', '/dist/')
          .replace(/\.tsx?$/, '.js');
        // Files for browsers are not compiled, so they have no counterpart in `dist`.
        return existsSync(id) ? { id, external: true } : undefined;
      },
    },
  ],
};

const sources = process.env.BELAY_TESTS === undefined ? fromSources : fromBuild;

const options = {
  server: { deps: { external: [/\/dist\//] } },
  // Limits for a busy machine; no test waits for them on purpose.
  testTimeout: 180_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 30_000 } },
  unstubEnvs: true,
};

const onTargets = 'packages/*/test/**/*.on-*.test.ts';

const short = process.env.BELAY_TESTS === 'short';

/** Tests that need more than Node.js and npm. They are left out of `npm test`, so that it runs the same tests on every machine. */
const more = [
  onTargets,
  'apps/cli/test/{completion,wizard}.test.ts',
  'packages/{agent,server}/test/browser/**/*.test.ts',
  'packages/providers/test/postgres/fifteen.test.ts',
  'packages/worker/test/redis/*.test.ts',
];

/** The rules of this repository, which `npm run lint` checks: `npm run verify` and CI run it before the tests. */
const ruled = ['test/architecture.test.ts'];

/**
 * Returns the patterns of tests to leave out: those on real systems that are not installed, which it prints. With
 * BELAY_TARGETS=`later` all tests on real systems are left out; with `required` it throws instead.
 */
function findLeftOut(): string[] {
  if (short) return [];
  const later = process.env.BELAY_TARGETS === 'later';
  const names = findUsed('packages').filter((name) => later || !isInstalled(name));
  if (names.length === 0) return [];
  if (process.env.BELAY_TARGETS === 'required') throw new Error(`not installed: ${names.join(', ')}`);
  if (!later) console.warn(`not tested, since not installed: ${names.join(', ')} (npm run targets -- install used)`);
  return names.map((name) => `packages/*/test/**/*.on-${name}.test.ts`);
}

/** Fuzz tests, injections, models and series of faults, which take minutes. `npm run verify` and CI run them; `npm test` prints them. */
const long = [
  'apps/cli/test/{agent-story,installed,run,run-restart,secrets}.test.ts',
  'packages/agent/test/process.test.ts',
  'packages/core/test/access.{model,overlap}.test.ts',
  'packages/core/test/crash/*.test.ts',
  'packages/core/test/{catalog.large,executions.restless,growth,growth.bytes,invariants,outage,plans,restore.noticed,suggest-{injections,lexical},turns}.test.ts',
  'packages/db/test/{lost-connections,migrate,silence}.test.ts',
  'packages/embedded-postgres/test/{accounts,binaries,crash,start}.test.ts',
  'packages/providers/test/{entra,github}/faults.test.ts',
  'packages/providers/test/postgres/lost-connections.test.ts',
  'packages/server/test/attacks/half-sent.test.ts',
  'packages/server/test/cluster/{cluster,failover,rolling}.test.ts',
  'packages/server/test/fuzz/fuzz.test.ts',
  'packages/server/test/http/{endless,generated-client,outage,tracing}.test.ts',
  'packages/server/test/services.test.ts',
  'packages/server/test/start/{bundles,connectors,killed,lost-connections,modules,npm-start,restore.drill,sdk-story,slow-database,vendors,warnings,warnings.series}.test.ts',
  'packages/sdk/test/packed.test.ts',
  'packages/worker/test/{bulkheads,healing,silence}.test.ts',
  'packages/workflow/test/{fuzz,pool,property,schema,thread}.test.ts',
  'test/deploy/{image,stages}.test.ts',
  'test/published.test.ts',
];

function findElsewhere(): string[] {
  if (process.env.BELAY_TESTS === undefined) return [];
  console.warn(`left to npm run lint: ${ruled.join(', ')}`);
  if (!short) return ruled;
  console.warn(`left to npm run verify:\n  ${long.join('\n  ')}`);
  console.warn(`left to it because they need more than Node.js and npm:\n  ${more.join('\n  ')}`);
  return [...long, ...more, ...ruled];
}

const leftElsewhere = findElsewhere();

/** Tests that need a process for each file: browsers and clusters have to end with it, and a tracer cannot be removed from a process. */
const alone = ['packages/server/test/{browser,cluster,fuzz}/**/*.test.ts', 'packages/server/test/http/tracing.test.ts'];

export default defineConfig({
  ...sources,
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // More than the cores of a small machine, because many tests wait for a server, a browser or a lease. Long tests wait less.
    maxWorkers: short ? 4 : 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      { ...sources, test: { ...options, name: 'alone', include: alone, exclude: leftElsewhere } },
      {
        ...sources,
        // The files of a worker share imported modules and their compiled code. With a process for each file, they
        // need up to twice the processor time (decision 0148).
        test: {
          ...options,
          name: 'together',
          isolate: false,
          include: ['{apps,packages}/*/test/**/*.test.{ts,tsx}', '{chaos/test,test}/**/*.test.ts'],
          exclude: [...alone, onTargets, ...leftElsewhere],
        },
      },
      {
        ...sources,
        test: {
          ...options,
          name: 'targets',
          isolate: false,
          include: [onTargets],
          exclude: [...findLeftOut(), ...leftElsewhere],
        },
      },
    ],
  },
});
