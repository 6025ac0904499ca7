import { openDatabase } from '@belay/db';
import { storeDefinition, workflowOf } from '@belay/engine';
import { expect, it } from 'vitest';
import { describeForAgents } from '../src/agents/describe.js';
import { inOnePiece } from '../src/breathe.js';
import { rolesConcerning, roleVisibility } from '../src/catalog/audiences.js';
import { describeRole } from '../src/catalog/roles.js';
import { lexicalSuggester } from '../src/suggestions/lexical.js';
import { listRequestable } from '../src/suggestions/requestable.js';
import { compileFixture, contextOf, engineer } from './fixtures/natural-language.js';
import { openCast, request } from './support/stories.js';

const system = { kind: 'system', name: 'test' } as const;

it('what agents and people are told of a catalog is made once per version', async () => {
  const [catalog, next] = [await compileFixture(), await compileFixture()];
  expect(describeForAgents(catalog)).toBe(describeForAgents(catalog));
  expect(describeForAgents(next)).not.toBe(describeForAgents(catalog));
  const [role] = catalog.roles.values();
  const [same] = next.roles.values();
  if (role === undefined || same === undefined) throw new Error('The catalog has no role');
  expect(describeRole(role)).toBe(describeRole(role));
  expect(describeRole(same)).not.toBe(describeRole(role));
});

it('what a suggester is told of a role is made once per version', async () => {
  const [catalog, next] = [await compileFixture(), await compileFixture()];
  const list = async (of: typeof catalog) => {
    const found = await listRequestable(contextOf(of), engineer, of, inOnePiece);
    return [...found.values()].map(({ described }) => described);
  };
  const first = await list(catalog);
  const second = await list(catalog);
  expect(first.length).toBeGreaterThan(10);
  expect(second.every((described, index) => described === first[index])).toBe(true);
  expect((await list(next)).filter((described) => first.includes(described))).toEqual([]);
});

it('the roles of a catalog are sorted by their audiences once', async () => {
  const catalog = await compileFixture();
  let read = 0;
  const roles = new Map(catalog.roles);
  const values = roles.values.bind(roles);
  roles.values = () => {
    read += 1;
    return values();
  };
  for (let time = 0; time < 3; time += 1) {
    expect(rolesConcerning(system, { roles })).toHaveLength(roles.size);
    expect(rolesConcerning(engineer, { roles }).length).toBeGreaterThan(0);
    expect(roleVisibility(engineer, { roles })).not.toBe('');
  }
  expect(read).toBe(1);
});

it('the words of a catalog are read once, also for suggestions that begin together', async () => {
  const [catalog, another] = [await compileFixture(), await compileFixture()];
  const question = { text: 'read the orders', roles: [], now: new Date('2026-03-01T10:00:00.000Z') };
  /** Returns into how many pieces the work of some suggestions is divided. */
  const suggest = async (of: typeof catalog, times: number) => {
    let pieces = 0;
    const breathe = async () => void (pieces += 1);
    const one = () => lexicalSuggester(of, breathe).suggest(question, new AbortController().signal);
    await Promise.all(Array.from({ length: times }, one));
    return pieces;
  };
  const first = await suggest(another, 1);
  const later = await suggest(another, 1);
  expect(first - later).toBeGreaterThan(catalog.roles.size);
  expect(later).toBeLessThan(5);
  expect(await suggest(catalog, 3)).toBe(first + 2 * later);
});

it('a definition is stored and prepared once in a process', async () => {
  await using cast = await openCast();
  const id = await request(cast.ada, { workflow: 'automatic' });
  const [row] = await cast.house.database.sql`
    select definition_digest as digest, document from executions join definitions on digest = definition_digest where id = ${id}`;
  const statements: string[] = [];
  const client = openDatabase(cast.house.database.url, {
    max: 1,
    onStatement: (_, text) => void statements.push(text),
  });
  try {
    await client.db.execute('select 1');
    statements.length = 0;
    const definition = { digest: `${row?.digest} of a test`, document: row?.document as unknown };
    for (let time = 0; time < 3; time += 1) await storeDefinition(client.db, definition);
    expect(statements.filter((text) => text.startsWith('insert into "definitions"'))).toHaveLength(1);
    await cast.house.database.sql`update executions set definition_digest = ${definition.digest} where id = ${id}`;
    statements.length = 0;
    const workflows = [];
    for (let time = 0; time < 3; time += 1) {
      workflows.push(await workflowOf(client.db, { id, definitionDigest: definition.digest }));
    }
    expect(new Set(workflows).size).toBe(1);
    expect(statements.filter((text) => text.startsWith('select'))).toHaveLength(1);
  } finally {
    await client.close();
  }
});
