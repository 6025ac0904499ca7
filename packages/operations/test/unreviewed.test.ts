import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planConfiguration } from '../src/policy/plan-configuration.js';
import { testPolicies } from '../src/policy/test-policies.js';

/** Attacks by a pull request of a stranger: a pipeline checks its configuration with `belay test` and `belay plan`. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-unreviewed-'));
  await mkdir(join(folder, 'config'));
});
afterEach(() => rm(folder, { recursive: true }));

const cases = (environment: Record<string, string> = {}) =>
  JSON.stringify({
    environment,
    cases: [
      {
        name: 'a case',
        person: { email: 'rita@example.com', groups: ['engineers'] },
        request: { role: 'reader', reason: 'a test' },
        expect: { result: 'granted' },
      },
    ],
  });

/** Returns a configuration with this secret of its sign-in provider, and with these services. */
const configuration = (secret: string, services: object = {}) =>
  JSON.stringify({
    services,
    providers: {
      login: {
        provider: 'oidc',
        config: { issuer: 'https://id.example.com', client_id: 'belay', client_secret: secret },
        groups: { allow: ['engineers'] },
      },
      database: {
        provider: 'postgres',
        config: {
          url: 'postgres://belay@database.example.com/app',
          identity: 'username',
          email_domains: ['example.com'],
        },
      },
    },
    roles: {
      reader: {
        providers: ['database'],
        inherits: ['database:app_read'],
        permissions: { groups: ['engineers'] },
        workflows: ['w'],
      },
    },
    workflows: {
      w: {
        workflow: {
          document: { dsl: '1.0.3', namespace: 'test', name: 'w', version: '1.0.0' },
          do: [{ grant: { call: 'access.grant' } }],
        },
      },
    },
  });

const write = (name: string, text: string) => writeFile(join(folder, 'config', name), text);
const variables = { TOKEN: 'a token of the pipeline' };
const test = () => testPolicies(join(folder, 'config'), undefined, variables);
const plan = () => planConfiguration(join(folder, 'config'), join(folder, 'config'), { variables });

describe('a configuration of a stranger', () => {
  it('sends nothing to the vault that it names', async () => {
    const heard: unknown[] = [];
    const server = createServer((request, response) => {
      heard.push(request.headers);
      response.end(JSON.stringify({ data: { data: { key: 'a secret of the vault' } } }));
    }).listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    try {
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const [secret, token] = ['${vault:path#key}', '${env:TOKEN}'];
      await write('belay.yaml', configuration(secret, { vault: { provider: 'hashicorp', address, token } }));
      await write('a.policy-test.yaml', cases());
      for (const refused of [await test(), await plan()]) {
        expect(refused).toMatchObject({ ok: false });
        expect(refused.ok || refused.messages.join()).toContain('give a stand-in for "vault:path#key"');
      }
      await write('a.policy-test.yaml', cases({ 'vault:path#key': 'a stand-in' }));
      expect(await test()).toMatchObject({ ok: true, results: [{ ok: true }] });
      expect(await plan()).toMatchObject({ ok: true, roles: [] });
      expect(heard).toEqual([]);
    } finally {
      server.close();
    }
  });

  it('has no file read by a stand-in that has the name of a variable for one', async () => {
    await writeFile(join(folder, 'secret'), 'a secret of the pipeline');
    await write('belay.yaml', configuration('${env:MINE}'));
    for (const name of ['MINE_FILE', 'BELAY_SECRET_FILE', 'DATABASE_URL_FILE']) {
      await write('a.policy-test.yaml', cases({ [name]: join(folder, 'secret') }));
      for (const refused of [await test(), await plan()]) {
        expect(refused).toMatchObject({ ok: false, messages: [expect.stringContaining('${env:MINE} has no value')] });
      }
    }
  });

  it('has no file read through a link beside a configuration that is one file', async () => {
    await writeFile(join(folder, 'secret'), cases({ MINE: 'what another file says' }));
    await write('belay.yaml', configuration('${env:MINE}'));
    await symlink(join(folder, 'secret'), join(folder, 'config', 'belay.policy-test.yaml'));
    const path = join(folder, 'config', 'belay.yaml');
    expect(await testPolicies(path, undefined, {})).toMatchObject({
      ok: false,
      messages: [expect.stringContaining('is a symbolic link to a file outside the folder')],
    });
    expect(await planConfiguration(path, path, { variables: {} })).toMatchObject({ ok: false });
  });

  it('cannot hold up the pipeline with cases that never end, or that are too long', async () => {
    await write('belay.yaml', configuration('a secret'));
    const beside = join(folder, 'config', 'belay.policy-test.yaml');
    execFileSync('mkfifo', [beside]);
    const path = join(folder, 'config', 'belay.yaml');
    expect(await testPolicies(path, undefined, {})).toMatchObject({
      ok: false,
      messages: [expect.stringContaining('is not a regular file')],
    });
    await rm(beside);
    await writeFile(beside, '');
    await truncate(beside, 5_000_000_000);
    expect(await testPolicies(path, undefined, {})).toMatchObject({
      ok: false,
      messages: [expect.stringContaining('is too long')],
    });
  });
});
