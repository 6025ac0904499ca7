import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { compileConfiguration } from '../src/config/compile-configuration.js';
import { validateConfiguration } from '../src/config/validate-configuration.js';
import { variables } from './support/variables.js';

const folder = fileURLToPath(new URL('../../../examples/connectors/', import.meta.url));
/** The types of the providers in an example, where they differ from the name of its file. */
const types: Record<string, string[]> = { 'scim.yaml': ['oidc'] };

// Files with a suffix, such as kubernetes-rbac.yaml, are for the system itself.
const examples = (await readdir(folder)).filter((name) => /^[a-z]+\.yaml$/.test(name));

it.each(examples)('loads examples/connectors/%s', async (name) => {
  const found = await compileConfiguration(`${folder}${name}`, variables, ({ providers }) => ({
    ok: true as const,
    providers: [...new Set([...providers.values()].map(({ connector }) => connector.type))],
  }));
  expect(found).toEqual({ ok: true, providers: types[name] ?? [name.replace('.yaml', '')] });
});

const examplesFolder = fileURLToPath(new URL('../../../examples/', import.meta.url));
const organisations = await readdir(join(examplesFolder, 'organisations'));
const recipes = await readdir(join(examplesFolder, 'sign-in'));

it.each([...organisations.map((name) => join('organisations', name)), ...recipes.map((name) => join('sign-in', name))])(
  'loads examples/%s without a warning',
  async (name) => {
    expect(await validateConfiguration(join(examplesFolder, name), variables)).toMatchObject({ ok: true, faults: [] });
  },
);

it.each([
  ['signing_secret: ${env:SLACK_SIGNING_SECRET}', '', 'config.signing_secret: must be set unless decisions is off'],
  ['${env:SLACK_BOT_TOKEN}', 'xoxp-1', 'config.token: must be the token of a bot user, which begins with xoxb-'],
  ['${env:SLACK_SIGNING_SECRET}', 'secret', 'config.signing_secret: must be the signing secret of the app'],
  ['deny_only', 'yes', 'config.decisions: '],
  ['trusted_email_domains: [example.com]', '', 'trusted_email_domains: must name the domains whose members decide'],
])('rejects examples/connectors/slack.yaml without a right %s, with file, key and fix', async (right, wrong, fix) => {
  const text = await readFile(`${folder}slack.yaml`, 'utf8');
  const place = await mkdtemp(join(tmpdir(), 'belay-examples-'));
  try {
    await writeFile(join(place, 'slack.yaml'), text.replace(right, wrong));
    const found = await compileConfiguration(join(place, 'slack.yaml'), variables, () => ({ ok: true as const }));
    const messages = found.ok ? [] : found.messages;
    expect(messages.join()).toContain(fix);
    expect(messages.join()).toMatch(/slack\.yaml.*providers\.slack\./);
    expect(messages.join()).not.toMatch(/xoxp|8f742231/);
  } finally {
    await rm(place, { recursive: true });
  }
});
