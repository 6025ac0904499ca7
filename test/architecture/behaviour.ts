import { codeOf, isSource, type Tree } from './tree.js';

/**
 * Returns files outside core/access that call an authorizer (rules R1–R8: one revoker). Connectors may call it, because
 * they implement authorizers.
 */
export function checkAuthorizerCalls(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => isSource(path) && !/^packages\/(core\/src\/access|providers\/src)\//.test(path))
    .filter(([, text]) => /\bensure(Present|Absent)\b/.test(codeOf(text)))
    .map(([path]) => `${path} calls an authorizer; only packages/core/src/access may`);
}

/** Files that name addresses of people in the form that is compared, without comparing people, each with its reason. */
const namingPeople: Record<string, string> = {
  'packages/core/src/executions/find-requests.ts': 'free text in a list of requests',
  'packages/core/src/logins/token.ts': 'the address that an operator gives is stored as the subject',
  'packages/core/src/provisioning/read-users.ts': 'the filters of SCIM',
  'packages/core/src/provisioning/write-user.ts':
    'stores the names of an account, and keeps them unique in their directory',
  'packages/core/src/users/list.ts': 'free text in a list of people',
};
const comparing =
  /\b(foldAddress|isSameAddress|emailFolded|email_folded|userNameFolded|user_name_folded|attachments|accountAttachments|account_attachments|ilike)\b|\b(lower|upper)\(|\bemail(Folded)?\.toLowerCase\(|\.email (===|!==)|eq\(\w+\.email\b/i;

/**
 * Returns files that compare addresses or names of accounts by themselves. Whether two accounts may be one person, are certainly one, or
 * were known by a name is asked of three functions in core/people, each with its safe side.
 */
export function checkPeople(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    if (!isSource(path) || !/^(packages\/(api|core|engine|operations|scim|server|worker)|apps\/server)\//.test(path))
      continue;
    if (/^packages\/core\/src\/(people|configuration)\//.test(path)) continue;
    const compares = comparing.test(codeOf(text));
    if (compares && !(path in namingPeople))
      faults.push(`${path} compares names of people; only packages/core/src/people may`);
    if (!compares && path in namingPeople) faults.push(`${path} is listed without need: it names no address`);
  }
  return faults;
}

/** Transactions of core that change nothing that an auditor needs, each with its reason. */
const silentTransactions: Record<string, string> = {
  'packages/engine/src/steps/advance.ts':
    'keeps an outcome; the ledger tells of what led to it, and of the move it leads to',
};

/** Returns the functions of core and the engine that append to the ledger in their caller's transaction and open none of their own. */
function appendersOf(tree: Tree): Set<string> {
  const names = ['appendLedger', 'appending', 'writingLedger'];
  for (const [path, text] of tree) {
    const code = codeOf(text);
    if (
      !/^packages\/(core|engine)\/src\//.test(path) ||
      !/\b(appendLedger|appending|writingLedger)\(/.test(code) ||
      /\.transaction\(/.test(code)
    )
      continue;
    for (const match of code.matchAll(/export (?:async )?function (\w+)/g)) names.push(match[1] ?? '');
  }
  return new Set(names);
}

/** Returns files of core whose transactions append nothing to the ledger: a change and its entry belong in one transaction. */
export function checkTransactions(tree: Tree): string[] {
  const faults: string[] = [];
  const appenders = appendersOf(tree);
  for (const [path, text] of tree) {
    if (!/^packages\/(core|engine)\/src\//.test(path)) continue;
    const code = codeOf(text);
    const opens = /\.transaction\(/.test(code);
    const appends = [...code.matchAll(/\b(\w+)\(/g)].some((match) => appenders.has(match[1] ?? ''));
    if (opens && !appends && !(path in silentTransactions)) {
      faults.push(`${path} opens a transaction and appends nothing to the ledger`);
    }
    if (!opens && path in silentTransactions) faults.push(`${path} is listed without need: it opens no transaction`);
  }
  return faults;
}

/** Files of core that may have a transaction and a `Promise.all`, each with what it waits for together. */
const besideTransactions: Record<string, string> = {
  'packages/core/src/access/intend.ts': 'observations at the providers, before the transaction',
  'packages/core/src/functions/grant.ts': 'grants of a process without places, after the transaction',
  'packages/core/src/functions/revoke.ts': 'revocations, after the transaction',
};

/**
 * Returns files with a transaction and a `Promise.all`. Statements of a transaction may only be sent together by `inOrder`, because
 * `Promise.all` does not send them in their order.
 */
export function checkOrder(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    if (!/^packages\/(core|engine)\/src\//.test(path)) continue;
    const code = codeOf(text);
    const mixes = /\btx\b/.test(code) && /\bPromise\.(all|allSettled|any|race)\b/.test(code);
    if (mixes && !(path in besideTransactions)) {
      faults.push(`${path} has a transaction and Promise.all; send its statements with inOrder`);
    }
    if (!mixes && path in besideTransactions) faults.push(`${path} is listed without need: it mixes nothing`);
  }
  return faults;
}

const impure: [name: string, pattern: RegExp][] = [
  ['the time', /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.(now|timeOrigin)\b|\bprocess\.(hrtime|uptime)\b/],
  [
    'randomness',
    /\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b|\bcrypto\.random\w+|\brandom(Bytes|Int)\b[^;]*\bfrom 'node:crypto'/,
  ],
  ['the environment', /\bprocess\.env\b|\benv\b[^;]*\bfrom 'node:process'/],
];

/** The files that may read time, randomness or environment: composition roots, and code that needs a default. Each with its reason. */
const impureFiles: Record<string, string> = {
  'packages/program/src/machine.ts': 'the one place of the server where they are made',
  'apps/server/src/main.ts': 'hands the process over',
  'apps/demo/src/main.ts': 'hands the process over',
  'apps/cli/src/main.ts': 'hands the process over',
  'packages/server/src/modes/serve.ts': 'the uptime of this process, for the metrics',
  'packages/db/src/client.ts': 'how long a statement has waited; another clock can be passed',
  'packages/server/src/http/limit-waiting.ts': 'how long a request has taken; another clock can be passed',
  'packages/server/src/http/request-log.ts': 'how long a request took, for its line in the log',
  'packages/server/src/meters.ts': 'how late a timer fires, for the metrics',
  'packages/demo/src/identity-provider/start.ts': 'the demo’s identity provider is a program of its own',
  'packages/embedded-postgres/src/postgres.ts': 'a published launcher has to bring its own randomness for the password',
  'packages/sdk/src/create-client.ts': 'a published client has to bring its own jitter',
  'packages/worker/src/waker.ts': 'the clock that delays of jobs are measured against; another can be passed',
  'packages/worker/src/dead-letters.ts': 'how old a dropped job is; another clock can be passed',
  'packages/worker/src/outage.ts': 'when it warned last; another clock can be passed',
};

/** Code that runs in browsers, where there is no composition root. */
const browserCode = 'packages/console/src/static/';

/** Returns uses of time, randomness and the environment below the composition root, where they are arguments. */
export function checkPurity(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    if (!/^(packages|apps)\/(?!testkit)[^/]+\/src\//.test(path) || !isSource(path) || path.startsWith(browserCode))
      continue;
    const found = impure.filter(([, pattern]) => pattern.test(codeOf(text))).map(([name]) => name);
    if (found.length > 0 && !(path in impureFiles)) faults.push(`${path} reads ${found.join(' and ')} by itself`);
    if (found.length === 0 && path in impureFiles && !path.endsWith('/main.ts')) {
      faults.push(`${path} is listed without need: it reads nothing by itself`);
    }
  }
  return faults;
}

/** Returns files that take an advisory lock: every user who can connect to the database can take the same lock. */
export function checkLocks(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => /^(packages|apps)\/(?!testkit)[^/]+\/src\//.test(path) && isSource(path))
    .filter(([, text]) => /\bpg_(try_)?advisory_/.test(codeOf(text)))
    .map(([path]) => `${path} takes an advisory lock; lock a row or a table, or use takeTurn`);
}

/** The files that may join a signal with a time limit: they keep the sources of the joined signal in memory. */
const joiners = ['packages/providers/src/within.ts', 'apps/cli/src/within.ts'];

/** Returns files that join signals elsewhere: a timeout that is joined can be garbage-collected, and its waiter then waits forever. */
export function checkSignals(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => /^(packages|apps|chaos|bench)\/.*src\//.test(path) && isSource(path) && !joiners.includes(path))
    .filter(([, text]) => /\bAbortSignal\.any\b/.test(codeOf(text)))
    .map(([path]) => `${path} joins signals; use within`);
}

const written = [
  /\.(insert|update|delete)\(\s*(steps|executions)\s*\)/,
  /\b(insert into|update|delete from)\s+(\$\{\s*)?(steps|executions)\b/i,
];

/** Returns writes of executions and steps outside the engine, which is their only writer. */
export function checkWriters(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => /^(packages|apps)\/[^/]+\/src\//.test(path) && isSource(path))
    .filter(([path, text]) => !path.startsWith('packages/engine/src/') && written.some((one) => one.test(codeOf(text))))
    .map(([path]) => `${path} writes executions or steps; only packages/engine may`);
}

const longestSource = 400;
const longestTest = 600;

/** Returns files that are too long. */
export function checkLength(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => /^(packages|apps|bench|chaos|test|examples)\/.*\.(ts|tsx|js|mjs)$/.test(path))
    .map(([path, text]): [string, number] => [path, text.trimEnd().split('\n').length])
    .filter(([path, lines]) => lines > (isSource(path) ? longestSource : longestTest))
    .map(([path, lines]) => `${path} has ${lines} lines; split it`);
}
