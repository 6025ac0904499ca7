import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { writeConfigurationSchema } from '../src/config/write-schema.js';
import { writeCaseSchema } from '../src/policy/case-schema.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const published = join(root, 'docs', 'belay.schema.json');
const ajv = new Ajv({ strict: false, allErrors: true });
formats.default(ajv);
const check = ajv.compile(JSON.parse(writeConfigurationSchema()) as object);

/** Files of the examples that are no configuration of Belay: they are for the systems themselves, or policy cases. */
const foreign = /kubernetes-rbac|gcp-condition|policy-test/;
const organisations = readdirSync(join(root, 'examples/organisations'));
const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.ya?ml$/.test(name) && !foreign.test(name))
  .map((name) => join('examples', name));

function faultsOf(document: unknown): string[] {
  check(document);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe('the JSON Schema of configuration files', () => {
  it('is published as it is generated', async () => {
    // After a change of a schema: npx vitest run packages/operations/test/schema.test.ts --update
    await expect(writeConfigurationSchema()).toMatchFileSnapshot(published);
  });

  it.each(examples)('accepts %s, which names it in its first line', async (name) => {
    const text = await readFile(join(root, name), 'utf8');
    expect(faultsOf(parse(text, { merge: true }))).toEqual([]);
    const named = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1];
    expect(named).toBe(relative(dirname(name), 'docs/belay.schema.json'));
  });

  it.each([
    ['an unknown section', 'rolls: {}'],
    ['a list', '- a'],
    ['an unknown key of a role', 'roles: { a: { providers: [b], workflows: [c], grants: all } }'],
    ['a role without a provider', 'roles: { a: { providers: [], workflows: [c] } }'],
    ['a role without workflows', 'roles: { a: { providers: [b] } }'],
    ['a name with a blank', 'roles: { "a b": { providers: [b], workflows: [c] } }'],
    ['a text for a switch', 'roles: { a: { providers: [b], workflows: [c], enabled: "yes" } }'],
    ['an unknown type of provider', 'providers: { a: { provider: nothing } }'],
    ['a provider without its settings', 'providers: { a: { provider: oidc } }'],
    [
      'an unknown setting',
      'providers: { a: { provider: oidc, config: { issuer: "https://a.example", client_id: x, isuer: y } } }',
    ],
    [
      'a wrong choice in a setting',
      'providers: { a: { provider: email, config: { host: a, from: b@c.example, security: no } } }',
    ],
    [
      'settings of another type',
      'providers: { a: { provider: postgres, config: { issuer: "https://a.example", client_id: x } } }',
    ],
    ['an unknown service', 'services: { vaults: {} }'],
    ['a vault of no vendor', 'services: { vault: { provider: cellar } }'],
    ['settings that belong to the environment', 'services: { storage: { url: x } }'],
    ['an unknown kind of message', 'messages: { channels: [a], kinds: [request.wating] }'],
    ['administrators by another key', 'access: { administrators: { group: [ops] } }'],
    ['a workflow without a document', 'workflows: { a: { workflow: { do: [] } } }'],
    ['an unknown key of a task', workflowOf('{ call: access.grant, wth: {} }')],
    ['an approval without stages', workflowOf('{ call: access.approve, with: {} }')],
    ['an unknown key within a try', workflowOf('{ try: [{ a: { call: access.grant, wth: {} } }], catch: {} }')],
    ['a task of no kind', workflowOf('{ cal: access.grant }')],
  ])('rejects %s', (_what, text) => {
    expect(faultsOf(parse(text))).not.toEqual([]);
  });

  it('accepts references where a setting has a form, and a disabled provider without its settings', () => {
    const text = `providers:
  off: { provider: oidc, enabled: false }
  hub: { provider: github, config: { app_id: "\${env:A}", installation_id: "\${env:B}", private_key: "\${vault:a#b}", identity: { table: { a@b.example: 1 } } } }`;
    expect(faultsOf(parse(text))).toEqual([]);
  });
});

describe('the JSON Schema of policy cases', () => {
  it('is published as it is generated', async () => {
    await expect(writeCaseSchema()).toMatchFileSnapshot(join(root, 'docs', 'policy-test.schema.json'));
  });

  const checkCases = ajv.compile(JSON.parse(writeCaseSchema()) as object);
  it.each(organisations)('accepts those of %s, which name it in their first line', async (name) => {
    const folder = join('examples/organisations', name);
    const text = await readFile(join(root, folder, 'access.policy-test.yaml'), 'utf8');
    checkCases(parse(text));
    expect(checkCases.errors).toBeNull();
    const named = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1];
    expect(named).toBe(relative(folder, 'docs/policy-test.schema.json'));
  });
});

function workflowOf(task: string): string {
  return `workflows: { a: { workflow: { document: { dsl: 1.0.3, namespace: a, name: a, version: 1.0.0 }, do: [{ one: ${task} }] } } }`;
}
