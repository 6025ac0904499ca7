import { readFile } from 'node:fs/promises';
import { createClient } from '@belay/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';

let belay: Belay;
/** The rows of the table of shapes in docs/cli.md, by their first column. */
let rows: Map<string, string>;

beforeAll(async () => {
  belay = await openBelay(({ roles: { reader }, ...rest }) => {
    const role = { ...reader, reason: { required: true, pattern: '.*' } };
    return { ...rest, roles: { reader: role, other: { ...role, default_duration: 'PT5M' } } };
  });
  const text = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('## JSON'), text.indexOf('## Exit codes'));
  rows = new Map(
    [...table.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, command = '', shape = '']) => [command, shape]),
  );
});
afterAll(() => belay[Symbol.asyncDispose]());

const client = () => createClient({ url: belay.url, token: belay.token });

async function documentsOf(...args: string[]): Promise<Record<string, unknown>[]> {
  const { stdout, stderr, code } = await belay.terminal.run([...args, '--json']);
  expect([code, stderr]).toEqual([0, '']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Returns the names of the fields in a row, at any depth. */
function fieldsIn(row: string): Set<string> {
  const shape = rows.get(row);
  expect(shape, row).toBeDefined();
  return new Set(shape?.match(/[a-z_]+/g));
}

/** Checks that the row of the table names every field of these documents. */
function expectDocumented(row: string, documents: readonly object[]): void {
  const named = fieldsIn(row);
  for (const field of documents.flatMap((document) => Object.keys(document))) {
    expect(named.has(field), `${row}: ${field}`).toBe(true);
  }
}

describe('--json of roles', () => {
  it('is what the API returns, whole, and every field of it is documented', async () => {
    const [list] = await documentsOf('roles');
    const answer = await client().roles.list();
    expect(list).toEqual(answer);
    expectDocumented('`roles`', [answer]);
    const [role = {}] = await documentsOf('roles', 'reader');
    expect(role).toEqual(await client().roles.get('reader'));
    expect(role).toEqual(answer.roles.reader?.role);
    expectDocumented('`roles <name>`', [role, ...(role.grants as object[]), role.reason as object]);
    expectDocumented('`roles <name> --star`, `--unstar`', await documentsOf('roles', 'reader', '--star'));
  });
});

describe('--json of request', () => {
  const terms = ['--reason', 'month end'];

  it('has the answer, every event and the grants as the API has them, and every field is documented', async () => {
    const lines = await documentsOf('request', '--role', 'reader', '--workflow', 'automatic', ...terms);
    const last = lines.at(-1);
    const { grants } = await client().executions.get(String(last?.execution_id));
    expect(last).toMatchObject({ active: true, grants, error: null });
    expect(lines.length).toBeGreaterThan(2);
    const row = '`request`, a line each';
    // The first line is the result of `--no-wait`, which has its own row.
    expectDocumented(row, [...lines.slice(1), ...(grants as object[])]);
    const once = await documentsOf('request', '--role', 'reader', ...terms, '--no-wait');
    expectDocumented('`request --no-wait`', [...once, once[0]?.output as object]);
  });

  it('has a result for each of several roles', async () => {
    const [made = {}] = await documentsOf('request', 'reader', 'other', ...terms, '--no-wait');
    expect(made).toMatchObject({ requested: 2, rejected: 0 });
    expectDocumented('`request <role> <role>…`', [made, ...(made.results as object[])]);
  });
});
