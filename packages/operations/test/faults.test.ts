import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClosest } from '@belay/contract/closest';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { validateConfiguration } from '../src/config/validate-configuration.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-faults-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const workflow = `
  approve:
    workflow:
      document: { dsl: 1.0.3, namespace: test, name: approve, version: 1.0.0 }
      do:
        - grant: { call: access.grant }
`;
const providers = `
  login: { provider: oidc, config: { issuer: "https://id.example", client_id: x } }
  db: { provider: postgres, config: { url: "postgres://u:p@h:5432/d", identity: email } }
`;

async function faultsOf(text: string) {
  const path = join(folder, 'belay.yaml');
  await writeFile(path, text);
  const { faults } = await validateConfiguration(path, { BELAY_DATA: folder });
  return faults.map(({ line, column, path: key, message, suggestion }) => [
    `${line}:${column}`,
    key,
    message,
    suggestion,
  ]);
}

it('names every error of a file with line, column, key, what is expected and what was probably meant', async () => {
  const text = `providers:${providers}rolls: {}
roles:
  reader:
    providers: [bd]
    inherit: ["db:reporting"]
    workflows: [aprove]
    enabled: "yes"
  other:
    workflows: [approve]
messages:
  channels: [db]
  kinds: [request.wating]
workflows:${workflow}`;
  expect(await faultsOf(text)).toEqual([
    ['15:11', 'messages.kinds[0]', expect.stringMatching(/^must be one of "/), 'request.waiting'],
    ['10:5', 'roles.reader.enabled', 'must be true or false, and is a text', undefined],
    ['8:5', 'roles.reader.inherit', 'is not a known key', 'inherits'],
    ['11:3', 'roles.other.providers', 'is required: a list', undefined],
    ['4:1', 'rolls', expect.stringMatching(/^is not a known key; expected: version, server/), 'roles'],
  ]);
});

it('suggests names of providers, workflows, roles, types and settings', async () => {
  const text = `providers:${providers}  log: { provider: slak }
  more: { provider: oidc, config: { isuer: "https://id.example", client_id: x } }
roles:
  reader: { providers: [bd], workflows: [aprove], inherits: [raeder2] }
  reader2: { providers: [db], workflows: [approve], inherits: ["dbb:reporting"] }
workflows:${workflow}`;
  const suggested = (await faultsOf(text)).map(([, key, , suggestion]) => [key, suggestion]);
  expect(Object.fromEntries(suggested)).toMatchObject({
    'providers.log.provider': 'slack',
    'providers.more.config.isuer': 'issuer',
    'roles.reader.workflows[0]': 'approve',
    'roles.reader.inherits[0]': 'reader2',
    'roles.reader2.inherits[0]': 'db',
  });
});

it('points into a workflow', async () => {
  const text = `workflows:${workflow.replace('call: access.grant', 'call: access.grunt, wth: {}')}`;
  const places = (await faultsOf(text)).map(([place, key]) => [place, key]);
  expect(places).toContainEqual(['6:40', 'workflows.approve.workflow/do/0/grant/wth']);
});

it('quotes no value of the settings of a provider', async () => {
  const text =
    'providers: { a: { provider: oidc, config: { issuer: "https://id.example", client_id: 31337, scopes: hunter2 } } }';
  expect(JSON.stringify(await faultsOf(text))).not.toMatch(/31337|hunter2/);
});

it('explains a hundred of the errors of a long file, and counts the others', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => `  role-${index}: { providers: [dv], workflows: [approv] }`);
  const found = await faultsOf(`providers:${providers}roles:\n${many.join('\n')}\nworkflows:${workflow}`);
  expect(found).toHaveLength(101);
  expect(found[0]).toMatchObject(['5:42', 'roles.role-0.workflows[0]', expect.anything(), 'approve']);
  expect(found.at(-1)?.[2]).toBe('and 9900 more');
});

it.each([
  ['provder', 'provider'],
  ['rolse', 'roles'],
  ['max-duration', 'max_duration'],
  ['Workflows', 'workflows'],
  ['hunter2', undefined],
  ['x', undefined],
])('finds for %s the name %s', (given, meant) => {
  expect(findClosest(given, ['provider', 'roles', 'max_duration', 'workflows', 'server'])).toBe(meant);
});

it('suggests none of two names that are equally close', () => {
  expect(findClosest('db-c', ['db-a', 'db-b'])).toBeUndefined();
});
