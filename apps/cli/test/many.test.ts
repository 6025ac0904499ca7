import type { Role } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameSome, proposeRoles, readPlaces } from '../src/run/choose-role.js';
import { openTerminal, silent, type Terminal } from './support/run.js';

let world: World;
let terminal: Terminal;
let rita: { server: string; token: string };
let adam: { server: string; token: string };

beforeAll(async () => {
  world = await createWorld({
    change: ({ roles, ...rest }) => ({
      ...rest,
      roles: {
        ...roles,
        'read-payments': { ...roles.reader, description: 'Read payments', default_duration: 'PT5M' },
      },
    }),
  });
  terminal = await openTerminal();
  rita = { server: world.url, token: await world.token('requester', 'device') };
  adam = { server: world.url, token: await world.token('approver', 'device') };
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

async function request(...args: string[]): Promise<string> {
  const made = await terminal.run(
    ['request', ...args, '--reason', 'month end', '--no-wait', '--jq', '.output.execution_id'],
    rita,
  );
  expect(made).toMatchObject({ code: 0, stderr: '' });
  await world.drive();
  return made.stdout.trim();
}

describe('several roles in one command', () => {
  it('are a request each, and a role alone is requested by its name', async () => {
    const made = await terminal.run(
      ['request', 'reader', 'store:read-payments', '--reason', 'month end', '--no-wait', '--json'],
      rita,
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(made.stdout)).toMatchObject({ requested: 2, rejected: 0, results: [{ role: 'reader' }, {}] });
    expect(await request('reader')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('are rejected with options of one request, and a word that is no role makes a sentence', async () => {
    const provider = await terminal.run(['request', 'reader', 'read-payments', '--provider', 'store'], rita);
    expect(provider).toMatchObject({ code: 2, stderr: expect.stringContaining('<provider>:<role>') });
    const sentence = await terminal.run(['request', 'reader', 'please', '--dry-run', '--json'], rita);
    expect(JSON.parse(sentence.stdout)).toMatchObject({ request: { reason: 'reader please' } });
    // One word that is not a role is not treated as a sentence.
    const unknown = await terminal.run(['request', 'quux-99', '--reason', 'month end'], rita);
    expect(unknown).toMatchObject({ code: 5, stderr: expect.stringContaining('Role quux-99 was not found') });
  });
});

describe('several decisions in one command', () => {
  it('are made after one confirmation for the same access, and never for different access', async () => {
    const [one, two, other] = [await request('reader'), await request('reader'), await request('read-payments')];
    const questions: string[] = [];
    const prompts = {
      ...silent,
      confirm: async (question: string) => {
        questions.push(question);
        return true;
      },
    };
    const different = await terminal.run(['approve', one, other], { ...adam, interactive: true, prompts });
    expect(different.code).toBe(2);
    expect(await terminal.run(['approve', one, two], adam)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    });
    const same = await terminal.run(['approve', one, two], { ...adam, interactive: true, prompts });
    expect(same).toMatchObject({ code: 0, stdout: expect.stringContaining(one) });
    expect(questions.at(-1)).toBe('Approve these 2 requests?');
    const denied = await terminal.run(['deny', other, other.slice(0, 20), '--comment', 'on Monday', '--json'], adam);
    expect(JSON.parse(denied.stdout)).toMatchObject({ decided: 1, rejected: 0 });
  });
});

describe('a beginning of an id', () => {
  it('is accepted by wait, watch and show, also when the request is over', async () => {
    const id = await request('reader');
    expect(await terminal.run(['wait', id.slice(0, 13), '--until', 'approval'], rita)).toMatchObject({ code: 0 });
    expect(await terminal.run(['executions', 'cancel', id.slice(0, 13)], rita)).toMatchObject({ code: 0 });
    await world.drive();
    expect(await terminal.run(['wait', id.slice(0, 13), '--until', 'completed'], rita)).toMatchObject({ code: 0 });
    const shown = await terminal.run(['executions', 'show', id.slice(0, 13), '--json=workflow_id,state'], rita);
    expect(JSON.parse(shown.stdout)).toEqual({ workflow_id: id, state: 'cancelled' });
    expect(await terminal.run(['executions', 'watch', id.slice(0, 13)], rita)).toMatchObject({ code: 8 });
  });
});

describe('belay run without a role', () => {
  it('reads where a command goes', () => {
    const cases: [command: string[], places: string[]][] = [
      [
        ['psql', '-h', 'reporting.db.example.com', '-U', 'rita', 'figures'],
        ['reporting.db.example.com', 'figures'],
      ],
      [
        ['psql', 'postgres://rita@db.example.com:5432/figures'],
        ['db.example.com', 'figures'],
      ],
      [
        ['psql', 'host=db.example.com dbname=figures'],
        ['db.example.com', 'figures'],
      ],
      [
        ['kubectl', '--context', 'prod-eu', '-n', 'payments', 'get', 'pods'],
        ['prod-eu', 'payments'],
      ],
      [['aws', '--profile=billing', 's3', 'ls'], ['billing']],
      [['gcloud', 'compute', 'list', '--project', 'figures-prod'], ['figures-prod']],
    ];
    for (const [command, places] of cases) expect(readPlaces(command), command.join(' ')).toEqual(places);
  });

  it('proposes the least role that fits the target, and says why', () => {
    const role = (name: string, grants: number, most: string): Role => ({
      name,
      description: '',
      providers: ['pg'],
      workflows: ['approve-and-grant'],
      enabled: true,
      reason: { required: true },
      inherits: [],
      grants: Array.from({ length: grants }, () => ({ provider: 'pg', access: { role: name } })),
      max_duration: most,
      default_duration: 'PT5M',
    });
    const roles = [
      role('admin', 3, 'PT10M'),
      role('reader', 1, 'PT2H'),
      role('short', 1, 'PT30M'),
      role('figures', 2, 'PT1H'),
    ];
    const providers = [{ id: 'pg', type: 'postgres' }];
    const propose = (...command: string[]) => {
      const { fitting, why } = proposeRoles(command, { providers, roles });
      return [...fitting.map(({ name }) => name), why];
    };
    expect(propose('psql', '-h', 'db.example.com', 'figures').slice(0, 2)).toEqual(['figures', 'short']);
    expect(propose('psql', '-h', 'db.example.com', 'figures').at(-1)).toBe('the least for figures');
    expect(propose('/usr/bin/psql')).toEqual(['short', 'reader', 'figures', 'admin', 'the least for psql']);
    expect(propose('terraform')).toEqual(['the least for terraform']);
    // A role for emergencies is not proposed, even with the shortest duration: its use notifies other people.
    roles.push({ ...role('emergency', 1, 'PT5M'), break_glass: true });
    expect(propose('psql')).toEqual(['short', 'reader', 'figures', 'admin', 'the least for psql']);
  });

  it('says what is missing when -- is forgotten, and names five of many roles', async () => {
    const forgotten = await terminal.run(['run', 'reader', 'psql', 'figures'], rita);
    expect(forgotten).toMatchObject({ code: 2, stderr: expect.stringContaining('belay run reader -- psql figures') });
    const roles = Array.from({ length: 7 }, (_, nth) => ({ name: `role-${nth}` }));
    expect(nameSome(roles)).toBe('role-0, role-1, role-2, role-3, role-4 and 2 more (see: belay roles)');
    expect(nameSome(roles.slice(0, 2))).toBe('role-0, role-1');
  });

  it('rejects a duration that cannot be read before anything is sent', async () => {
    for (const option of ['--for', '--lease']) {
      const ran = await terminal.run(['run', 'reader', option, 'soon', '--', 'true'], {
        ...rita,
        server: 'http://127.0.0.1:1',
      });
      expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining(`${option} is not a valid duration`) });
    }
  });
});
