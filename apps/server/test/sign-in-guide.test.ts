import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createCertified } from '../../../packages/providers/test/support/certified.js';
import { connectors } from '../src/connectors.js';

it('every example of the guide to signing in is a configuration that is taken', async () => {
  const guide = await readFile(new URL('../../../docs/guides/sign-in.md', import.meta.url), 'utf8');
  const { certificate } = createCertified('idp.example.com');
  const types: string[] = [];
  for (const [, block = ''] of guide.matchAll(/```yaml\n(.*?)```/gs)) {
    const { providers } = parse(block) as { providers: Record<string, { provider: string; config: object }> };
    for (const { provider, config } of Object.values(providers)) {
      const text = JSON.stringify(config);
      const filled = text
        .replaceAll(/\$\{env:\w*CERTIFICATE\}/g, JSON.stringify(certificate).slice(1, -1))
        .replaceAll(/\$\{env:\w+\}/g, 'a-value-of-the-environment');
      const taken = connectors.get(provider)?.config.safeParse(JSON.parse(filled));
      expect(taken?.error).toBeUndefined();
      types.push(provider);
    }
  }
  expect(types.sort()).toEqual(['oauth2', 'oauth2', 'oidc', 'saml']);
});
