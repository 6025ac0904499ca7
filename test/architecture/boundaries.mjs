/** The entry points of packages/contract, one for each entity or concern. */
const contract = [
  'absolute-url',
  'access',
  'address',
  'admin',
  'approvals',
  'audience',
  'auth',
  'back-off',
  'canonical',
  'closest',
  'comments',
  'configuration',
  'csv',
  'durations',
  'elevation',
  'errors',
  'event-types',
  'events',
  'exact-json',
  'examples',
  'executions',
  'fields',
  'hooks',
  'limits',
  'logs',
  'metadata',
  'moments',
  'operations',
  'outage',
  'paging',
  'postgres-session',
  'postgres-tls',
  'preferences',
  'printable',
  'providers',
  'reviews',
  'roles',
  'runs',
  'schemas',
  'sessions',
  'suggestions',
  'system',
  'text',
  'wait-target',
  'workflows',
].map((door) => `contract/${door}`);

/**
 * Who may import whom: the one table (docs/architecture.md). The lint rules in biome.json are generated from it
 * (`node test/architecture/write-lint-rules.mjs`), and test/architecture.test.ts checks imports, package.json files and
 * biome.json against it. An import that is not listed here is rejected.
 *
 * - `workspace`: our own packages, by their last name, and their other entry points by name and path;
 * - `outside`: packages of others and built-in modules; the subpaths of packages are included;
 * - `folders`: the order of folders and files in `src`, lowest first: a file imports from its own folder and from lower ones. `.` is
 *   every file of `src` itself that is not named;
 * - `files`: what single files, named relative to `src`, may import beyond that, and why.
 *
 * @type {Record<string, {
 *   workspace: string[], outside: string[], why: string, folders?: string[],
 *   files?: { names: string[], imports: string[], why: string }[],
 * }>}
 */
export const boundaries = {
  'packages/contract': {
    workspace: [],
    outside: ['zod'],
    why: 'what all packages share imports none of them',
    files: [
      {
        names: ['canonical.ts'],
        imports: ['node:crypto'],
        why: 'the server and its agents compare digests of the same values',
      },
      {
        names: ['postgres-tls.ts'],
        imports: ['node:fs', 'node:net', 'node:tls'],
        why: 'both drivers verify a database by the same certificates and names',
      },
    ],
  },
  'packages/workflow': {
    workspace: ['contract/durations', 'contract/exact-json', 'contract/text'],
    outside: ['zod', 'yaml', 'ajv', 'ajv-formats', 'jq-web', 're2js'],
    why: 'the machine is pure: no I/O, no clock, no randomness',
    files: [
      {
        names: ['expression/thread.ts', 'expression/jq-worker.js', 'expression/schema-worker.js'],
        imports: ['node:worker_threads'],
        why: 'jq runs in threads that can be ended',
      },
      {
        names: ['expression/thread-clock.js'],
        imports: ['node:fs', 'node:os'],
        why: 'the kernel says how much processor time a thread has had',
      },
      {
        names: ['expression/bounded-jq.js'],
        imports: ['node:buffer'],
        why: 'what jq writes is taken from its memory',
      },
    ],
  },
  'packages/providers': {
    workspace: [
      'contract/address',
      'contract/back-off',
      'contract/durations',
      'contract/exact-json',
      'contract/outage',
      'contract/postgres-session',
      'contract/postgres-tls',
      'contract/text',
    ],
    outside: [
      'zod',
      'postgres',
      'mysql2',
      'openid-client',
      'arctic',
      '@node-saml/node-saml',
      'jose',
      'ldapts',
      'ai',
      '@ai-sdk/anthropic',
      '@ai-sdk/openai-compatible',
      '@aws-sdk/client-identitystore',
      '@aws-sdk/client-kms',
      '@aws-sdk/client-secrets-manager',
      '@aws-sdk/client-sso-admin',
      '@google-cloud/kms',
      '@google-cloud/secret-manager',
      'google-auth-library',
      '@azure/identity',
      '@azure/keyvault-keys',
      '@azure/keyvault-secrets',
      'undici',
      'node:crypto',
    ],
    why: 'a connector knows its vendor and the port, nothing of what Belay does',
    files: [
      {
        names: ['kubernetes/open.ts'],
        imports: ['node:fs/promises'],
        why: 'the token of a service account is in a file that changes',
      },
      {
        names: ['ldap/connect.ts'],
        imports: ['node:net', 'node:tls', 'node:events'],
        why: 'a connection that is lost must not be made again without its credentials, which the library would do',
      },
      {
        names: ['email/open.ts'],
        imports: ['nodemailer', 'node:net'],
        why: 'SMTP, over a connection that the system resolves; loaded only where e-mail is configured',
      },
      {
        names: ['addresses.ts'],
        imports: ['node:net'],
        why: 'which addresses lie outside the public internet',
      },
      {
        names: ['http/client.ts'],
        imports: ['node:net'],
        why: 'the type of a resolver',
      },
      {
        names: ['http/urgency.ts'],
        imports: ['node:async_hooks'],
        why: 'the urgency of a revocation belongs to all calls below it, and no connector has to pass it on',
      },
      {
        names: ['webhook/open.ts'],
        imports: ['node:net', 'node:dns'],
        why: 'a connection goes to the address that was examined',
      },
      {
        names: ['testkit/hostile-holder.ts'],
        imports: ['vitest'],
        why: 'the types of the runner that a suite is given',
      },
    ],
  },
  'packages/db': {
    workspace: ['contract/back-off', 'contract/postgres-session', 'contract/postgres-tls'],
    outside: ['drizzle-orm', 'postgres', 'node:url'],
    why: 'tables, constraints and migrations; no domain logic',
  },
  'packages/engine': {
    workspace: ['contract/back-off', 'contract/exact-json', 'contract/text', 'workflow', 'db'],
    outside: ['zod', 'drizzle-orm', '@opentelemetry/api'],
    why: 'executions know nothing of access, approvals, people or HTTP: what they need comes in by ports',
    folders: ['.', 'steps', 'turns', 'calls', 'index.ts'],
  },
  'packages/core': {
    workspace: [...contract, 'engine', 'workflow', 'providers', 'db'],
    outside: ['zod', 'drizzle-orm', 'jose', 'lucia', 'minisearch', 'node:crypto'],
    why: 'the verbs know no transport: no tRPC, no express, no BullMQ, no environment',
    folders: [
      '.',
      'configuration',
      'context.ts',
      'count-lookup.ts',
      'outage.ts',
      'actor.ts',
      'can.ts',
      'ledger',
      'tokens',
      'people',
      'find-execution.ts',
      'catalog',
      'plans',
      'approvals',
      'access',
      'reviews',
      'messages',
      'comments',
      'functions',
      'sessions',
      'logins',
      'suggestions',
      'elevation',
      'rehearsal',
      'executions',
      'runs',
      'logs',
      'retention',
      'agents',
      'users',
      'provisioning',
      'system',
      'host.ts',
      'index.ts',
    ],
  },
  'packages/rest': {
    workspace: ['contract/csv', 'contract/errors', 'contract/exact-json', 'contract/limits', 'contract/outage'],
    outside: [
      'zod',
      '@trpc/server',
      'negotiator',
      'prom-client',
      'trpc-to-openapi',
      'node:crypto',
      'node:events',
      'node:http',
    ],
    why: 'procedures at documented paths: it knows HTTP and tRPC, and no entity of ours',
  },
  'packages/api': {
    workspace: [...contract, 'core', 'rest'],
    outside: ['@trpc/server', 'trpc-to-openapi'],
    why: 'a router validates, calls a verb and returns: no SQL, no queue, no vendor',
  },
  'packages/scim': {
    workspace: ['contract/errors', 'contract/exact-json', 'contract/text', 'core', 'rest'],
    outside: ['lossless-json', 'node:http'],
    why: 'it knows SCIM, and calls a verb for what it was told: no SQL, no queue, no vendor',
  },
  'packages/console': {
    workspace: [...contract, 'api', 'rest', 'sdk', 'workflow'],
    outside: ['lucide', 'preact', 'preact-render-to-string', '@trpc/server', 'node:crypto', 'node:fs'],
    why: 'a page is a function of what procedures return: no verb, no database, no request',
  },
  'packages/agent': {
    workspace: [...contract, 'console/controls', 'host', 'program', 'rest', 'sdk'],
    outside: ['zod', '@napi-rs/keyring', '@trpc/server', 'jose', 'preact', 'preact-render-to-string', 'node:*'],
    why: 'it runs on a person’s machine: no database, no queue, no workflow, no vendor',
  },
  'packages/worker': {
    workspace: [
      'contract/back-off',
      'contract/outage',
      'contract/postgres-session',
      'contract/postgres-tls',
      'core',
      'engine',
    ],
    outside: ['zod', 'bullmq', 'ioredis', 'pg', 'node:timers/promises'],
    why: 'a processor parses ids and calls a verb: no SQL of its own, no HTTP',
  },
  'packages/sdk': {
    workspace: [...contract],
    outside: ['@trpc/client', '@trpc/server', 'eventsource'],
    why: 'published: it runs with its own dependencies only, and what it takes from contract is bundled',
  },
  'packages/host': {
    workspace: [],
    outside: ['node:*'],
    why: 'it knows the machine, and nothing of Belay',
  },
  'packages/embedded-postgres': {
    workspace: ['host'],
    outside: ['postgres', 'node:*'],
    why: 'it is published alone: nothing of Belay is in it',
  },
  'packages/program': {
    workspace: ['sdk'],
    outside: ['pino', 'zod', 'node:*'],
    why: 'every program of ours begins and ends with it, so it loads nothing of what only some are for',
  },
  'packages/operations': {
    workspace: [
      'contract/back-off',
      'contract/canonical',
      'contract/closest',
      'contract/durations',
      'contract/errors',
      'contract/outage',
      'contract/postgres-session',
      'contract/postgres-tls',
      'core',
      'db',
      'embedded-postgres',
      'host',
      'program',
      'providers',
      'workflow',
    ],
    outside: ['chokidar', 'yaml', 'zod', 'node:*'],
    why: 'operators’ commands work without a server: no HTTP, no queue, no procedures',
  },
  'packages/server': {
    workspace: [
      'contract/outage',
      'operations',
      'operations/environment',
      'program',
      'embedded-postgres',
      'host',
      'agent',
      'api',
      'api/openapi',
      'console',
      'console/controls',
      'core',
      'db',
      'providers',
      'rest',
      'scim',
      'sdk',
      'worker',
      'workflow',
    ],
    outside: [
      'zod',
      'yaml',
      'busboy',
      'chokidar',
      'express',
      'express-rate-limit',
      'rate-limit-redis',
      'helmet',
      '@opentelemetry/api',
      'pino',
      'postgres',
      'prom-client',
      'proxy-addr',
      'undici',
      '@trpc/server',
      'node:*',
    ],
    why: 'the composition root takes everything and decides nothing',
  },
  'packages/demo': {
    workspace: ['db', 'host', 'operations', 'program', 'server'],
    outside: ['oidc-provider', 'postgres', 'zod', 'node:*'],
    why: 'a composer around the server: it enters it by its front door, and nothing of it is in the server',
  },
  'packages/testkit': {
    workspace: [
      'api',
      'core',
      'db',
      'demo',
      'engine',
      'host',
      'program',
      'providers',
      'providers/testkit',
      'server/composition',
      'workflow',
    ],
    outside: ['@trpc/server', 'postgres', 'yaml', 'zod', 'node:*'],
    why: 'what tests share; only tests import it',
  },
  'apps/server': {
    workspace: ['server'],
    outside: [],
    why: 'a program hands its process over, and does nothing else',
  },
  'apps/demo': {
    workspace: ['demo', 'server'],
    outside: [],
    why: 'a program hands its process over, and does nothing else',
  },
  'apps/cli': {
    workspace: [
      'contract/closest',
      'contract/csv',
      'contract/durations',
      'contract/moments',
      'contract/printable',
      'host',
      'sdk',
    ],
    outside: [
      'commander',
      '@clack/prompts',
      'fast-string-width',
      'fast-wrap-ansi',
      'jq-web',
      'picocolors',
      'yaml',
      'node:*',
    ],
    why: 'a command does nothing that the REST client could not',
    files: [
      {
        names: ['load-operator.ts'],
        imports: ['@belay/core', '@belay/demo', '@belay/operations', '@belay/program', '@belay/server'],
        why: 'the operator commands start, validate and token create work without a server',
      },
      {
        names: ['load-diagnosis.ts'],
        imports: ['@belay/operations', '@belay/program'],
        why: 'belay doctor looks at a server’s setup with the code that a start uses',
      },
      {
        names: ['load-agent.ts', 'shell.ts'],
        imports: ['@belay/agent'],
        why: 'belay agent runs, enrols and looks at the agent of this machine',
      },
    ],
  },
  'packages/targets': {
    workspace: ['host'],
    outside: ['emulate', 'node:*'],
    why: 'connectors are tested on it: it knows none of them',
  },
  pack: {
    workspace: [],
    outside: ['openapi-typescript', 'rolldown', 'rolldown-plugin-dts', 'typescript', 'node:*'],
    why: 'it reads what was built, and is part of nothing',
  },
  chaos: {
    workspace: ['embedded-postgres', 'host'],
    outside: ['postgres', 'node:*'],
    why: 'it starts programs, speaks HTTP and reads the target, and knows nothing else of Belay',
  },
};

/** Returns every specifier that a file may import besides relative ones, as patterns of the lint rule. */
export function allowedPatterns(folder, file) {
  const { workspace, outside, files = [] } = boundaries[folder];
  const extra = files.filter(({ names }) => names.includes(file)).flatMap(({ imports }) => imports);
  // Of our own packages each entry point is listed; of other packages all subpaths are allowed.
  const own = [...workspace.map((name) => `@belay/${name}`), ...extra.filter((name) => name.startsWith('@belay/'))];
  const others = [...outside, ...extra.filter((name) => !name.startsWith('@belay/'))];
  return [
    ...own,
    ...others.flatMap((name) => (name.startsWith('node:') && name !== 'node:*' ? [name] : [name, `${name}/**`])),
  ];
}

/** Returns the overrides of biome.json about imports: one for each package, then one for each exception. */
export function lintOverrides() {
  return Object.entries(boundaries).flatMap(([folder, { why, files = [] }]) => [
    override(
      [`${folder}/src/**`],
      allowedPatterns(folder),
      `${folder} may not import this: ${why} (test/architecture/boundaries.mjs)`,
    ),
    ...files.map(({ names, why: exception }) =>
      override(
        names.map((name) => `${folder}/src/${name}`),
        allowedPatterns(folder, names[0]),
        `This file may not import this: ${exception} (test/architecture/boundaries.mjs)`,
      ),
    ),
  ]);
}

function override(includes, allowed, message) {
  const group = ['**', '!./**', '!../**', ...allowed.map((pattern) => `!${pattern}`)];
  return {
    includes,
    linter: {
      rules: { style: { noRestrictedImports: { level: 'error', options: { patterns: [{ group, message }] } } } },
    },
  };
}
