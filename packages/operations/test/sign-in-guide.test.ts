import { readFile } from 'node:fs/promises';
import { compileCatalog } from '@belay/core';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createCertified } from '../../providers/test/support/certified.js';
import { connectors } from '../src/connectors.js';

const { certificate } = createCertified('idp.example.com');
const resolve = (reference: string) => (reference.includes('CERTIFICATE') ? certificate : 'a-value-of-the-environment');

async function examplesOf(guide: string) {
  const text = await readFile(new URL(`../../../docs/guides/${guide}`, import.meta.url), 'utf8');
  return [...text.matchAll(/```yaml\n(.*?)```/gs)].map(
    ([, block = '']) => parse(block) as { providers?: Record<string, { provider: string }> },
  );
}

async function compile(document: object) {
  const result = await compileCatalog(document, { connectors, resolve });
  return result.ok ? { issues: [], warnings: result.catalog.warnings } : { issues: result.issues, warnings: [] };
}

it('every example of the guide to signing in is a configuration that is taken', async () => {
  const types: string[] = [];
  for (const example of await examplesOf('sign-in.md')) {
    expect(await compile(example)).toEqual({ issues: [], warnings: [] });
    types.push(...Object.values(example.providers ?? {}).map(({ provider }) => provider));
  }
  expect(types.sort()).toEqual(['oauth2', 'oauth2', 'oauth2', 'oidc', 'saml']);
});

it('all of them together are taken without a warning: each says which of its groups pass', async () => {
  const providers = Object.assign(
    {},
    ...(await examplesOf('sign-in.md')).map((example) => example.providers),
  ) as Record<string, { groups?: unknown }>;
  expect(Object.keys(providers).length).toBeGreaterThan(3);
  expect(await compile({ providers })).toEqual({ issues: [], warnings: [] });
  // A provider without such a rule causes a warning.
  const { corp, ...others } = providers;
  const { groups: _left, ...silent } = corp ?? {};
  expect((await compile({ providers: { ...others, corp: silent } })).warnings).toMatchObject([
    { path: 'providers.corp' },
  ]);
});
