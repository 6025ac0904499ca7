import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { validateConfiguration } from '../src/config/validate-configuration.js';
import { connectors } from '../src/connectors.js';
import { initConfiguration, listBlueprints } from '../src/init/init-configuration.js';
import { variables } from './support/variables.js';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'belay-init-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const { identityProviders, systems, messengers } = listBlueprints();
const choices = [
  ...identityProviders.map(({ name }) => ({ identityProvider: name, system: 'postgres' })),
  ...systems
    .map(({ name }) => ({ identityProvider: 'keycloak', system: name }))
    .filter(({ system }) => system !== 'postgres'),
  ...messengers.map(({ name }) => ({ identityProvider: 'okta', system: 'aws', messages: name })),
];

const compiled = new Map<string, ValidateFunction>();

/** Returns the check of a schema. It is compiled once for all folders with the same schema, because compiling is slow. */
function compileOnce(schema: string): ValidateFunction {
  const check =
    compiled.get(schema) ?? new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(schema) as object);
  compiled.set(schema, check);
  return check;
}

it.each(choices)('writes files that validate without a warning: %o', async (choice) => {
  const folder = join(root, Object.values(choice).join('-'));
  const files = await initConfiguration(folder, { domain: 'example.com', ...choice });
  expect(files.sort()).toEqual((await readdir(folder)).sort());
  const result = await validateConfiguration(folder, { ...variables, BELAY_DATA: root });
  expect(result).toMatchObject({ ok: true, faults: [], roles: 1, workflows: 1 });
  const check = compileOnce(await readFile(join(folder, '.belay.schema.json'), 'utf8'));
  const named = new Set<string>();
  for (const name of files.filter((each) => each.endsWith('.yaml'))) {
    const text = await readFile(join(folder, name), 'utf8');
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.belay\.schema\.json\n/);
    check(parse(text));
    expect(check.errors).toBeNull();
    for (const [, variable = ''] of text.matchAll(/\$\{env:(\w+)\}/g)) named.add(variable);
  }
  const example = await readFile(join(folder, '.env.example'), 'utf8');
  expect([...example.matchAll(/^(\w+)=$/gm)].map(([, name]) => name).sort()).toEqual([...named].sort());
  // The other variables of a process are named, but commented out, because a trial does not need them.
  for (const name of ['BELAY_BASE_URL', 'DATABASE_URL', 'BELAY_SECRET']) expect(example).toContain(`\n# ${name}=`);
});

const recipes = new URL('../../../examples/sign-in/', import.meta.url);
it.each(await readdir(recipes))('writes the sign-in of examples/sign-in/%s', async (file) => {
  const folder = join(root, `recipe-${file}`);
  const identityProvider = file.replace('.yaml', '');
  await initConfiguration(folder, { identityProvider, system: 'postgres', domain: 'example.com' });
  const written: unknown = parse(await readFile(join(folder, 'sign-in.yaml'), 'utf8'));
  expect(written).toEqual(parse(await readFile(new URL(file, recipes), 'utf8')));
});

it('knows every type of provider that is registered', () => {
  const signIn = [...connectors.values()].filter(({ capabilities }) => capabilities.includes('authenticator'));
  expect(signIn.map(({ type }) => type).sort()).toEqual(['oauth2', 'oidc', 'saml']);
  const others = [...connectors.keys()].filter((type) => !signIn.some((one) => one.type === type));
  expect([...systems, ...messengers].map(({ name }) => name).sort()).toEqual(others.sort());
});

it('overwrites nothing', async () => {
  const folder = join(root, 'mine');
  const beginning = { identityProvider: 'okta', system: 'postgres', domain: 'example.com' };
  await initConfiguration(folder, beginning);
  const file = join(folder, 'sign-in.yaml');
  await writeFile(file, 'mine');
  await expect(initConfiguration(folder, beginning)).rejects.toThrow('is not empty; name a new folder');
  await expect(initConfiguration(file, beginning)).rejects.toThrow('cannot be used as a folder');
  expect(await readFile(file, 'utf8')).toBe('mine');
});

it.each([
  [{ identityProvider: 'octa' }, '"octa" is not a known identity provider; available: okta, '],
  [{ system: '__proto__' }, '"__proto__" is not a known system; available: postgres, '],
  [{ messages: 'fax' }, '"fax" is not a known type of messages; available: slack, '],
  [{ domain: 'example.com]\nroles: {}' }, 'is not a domain, for example example.com'],
])('writes nothing for %o', async (wrong, message) => {
  const folder = join(root, 'wrong');
  const beginning = { identityProvider: 'okta', system: 'postgres', domain: 'example.com', ...wrong };
  await expect(initConfiguration(folder, beginning)).rejects.toThrow(message);
  await expect(readdir(folder)).rejects.toThrow();
});
