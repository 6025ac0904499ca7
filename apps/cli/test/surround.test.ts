import { access, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Connections } from '@belay/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { surround } from '../src/run/surround.js';

const server = 'https://k8s.example.com:6443';
const ca = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

let home: string;
let variables: Record<string, string>;
let said: string[];

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'belay-home-'));
  [variables, said] = [{}, []];
});
afterEach(() => rm(home, { recursive: true, force: true }));

type Shared = Connections['connections'][number];

const around = (connections: Partial<Shared>[]) =>
  surround(
    connections.map((one) => ({ provider: 'k8s', identity: 'rita', variables: {}, ...one })),
    { host: { variables, home, platform: 'linux' }, say: (text) => void said.push(text) },
  );

async function write(name: string, text: string): Promise<string> {
  const file = path.join(home, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

/** Returns the kubeconfig that a command gets. */
async function readOurs(kubeconfig: string | undefined) {
  const [file = ''] = kubeconfig?.split(':') ?? [];
  return { file, config: JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown> };
}

/** The person's own kubeconfig: two users at the cluster of the role, one of them in the current context. */
const own = `
current-context: mine
clusters:
  - {name: prod, cluster: {server: "${server}/"}}
  - {name: other, cluster: {server: "https://other.example.com"}}
contexts:
  - {name: elsewhere, context: {cluster: other, user: guest}}
  - {name: administrator, context: {cluster: prod, user: root}}
  - {name: mine, context: {cluster: prod, user: rita}}
users:
  - {name: rita, user: {token: hidden}}
`;

describe('the variables of a run', () => {
  it('are those that the guide names, and no others that a server in wrong hands could send', async () => {
    const guide = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
    const part = guide.slice(guide.indexOf('## Run'), guide.indexOf('## Output'));
    const named = new Set(Array.from(part.matchAll(/`([A-Z][A-Z_]*[A-Z])`/g), ([, name = '']) => name));
    for (const name of ['SIGINT', 'KUBECONFIG', 'AWS_PROFILE', 'BELAY_TOKEN']) named.delete(name);
    expect(named.size).toBe(17);
    const sent = Object.fromEntries(Array.from(named, (name) => [name, 'x']));
    const hostile = {
      ...{
        PATH: '/tmp',
        LD_PRELOAD: '/tmp/x.so',
        NODE_OPTIONS: '--import data:text/javascript,0',
        PGSERVICEFILE: '/tmp/x',
      },
      ...{ KUBECONFIG: '/tmp/x', AWS_PROFILE: 'root', BELAY_URL: 'http://127.0.0.1:1', pghost: 'x' },
    };
    const { variables } = await around([{ variables: { ...sent, ...hostile } }]);
    expect(variables).toEqual(sent);
  });

  it('have no value that a program cannot be given', async () => {
    const wrong = { PGHOST: 'a\0b', PGPORT: 5432, PGUSER: null } as unknown as Record<string, string>;
    expect((await around([{ variables: wrong }, { variables: undefined as never }])).variables).toEqual({});
  });

  it('are those of all systems, without a variable that two systems have with different values', async () => {
    const { variables } = await around([
      { variables: { PGHOST: 'one', PGPORT: '5432' } },
      { variables: { PGHOST: 'two', PGPORT: '5432', LDAPURI: 'ldaps://ldap' } },
    ]);
    expect(variables).toEqual({ PGPORT: '5432', LDAPURI: 'ldaps://ldap' });
  });
});

describe('the kubeconfig of a run', () => {
  it('has the cluster, the namespace and the user that the person is there, no secret, and is removed', async () => {
    const mine = await write('.kube/config', own);
    const surroundings = await around([{ cluster: { server, certificate_authority: ca, namespace: 'shop' } }]);
    const { file, config } = await readOurs(surroundings.variables.KUBECONFIG);
    expect(surroundings.variables).toEqual({ KUBECONFIG: `${file}:${mine}` });
    const certificate = Buffer.from(ca).toString('base64');
    expect(config).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'belay-k8s', cluster: { server, 'certificate-authority-data': certificate } }],
      contexts: [{ name: 'belay-k8s', context: { cluster: 'belay-k8s', user: 'rita', namespace: 'shop' } }],
      'current-context': 'belay-k8s',
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    await surroundings[Symbol.asyncDispose]();
    await expect(access(path.dirname(file))).rejects.toThrow('ENOENT');
    expect(await readFile(mine, 'utf8')).toBe(own);
    expect(said).toEqual([]);
  });

  it.each([
    ['there is no file', undefined],
    ['the file cannot be read', ': ['],
    ['it has only other clusters', own.replace(server, 'https://third.example.com')],
    ['it has two users there and another context', own.replace('current-context: mine', 'current-context: elsewhere')],
  ])('names no user, and says so, when %s', async (_, text) => {
    if (text !== undefined) await write('.kube/config', text);
    await using surroundings = await around([{ cluster: { server } }]);
    const { config } = await readOurs(surroundings.variables.KUBECONFIG);
    expect(config.contexts).toEqual([{ name: 'belay-k8s', context: { cluster: 'belay-k8s' } }]);
    expect(said).toEqual([
      `~/.kube/config does not say which user you are at ${server}; name yours, for example kubectl --user`,
    ]);
  });

  it('has no namespace for access to several, and no current context for several clusters', async () => {
    await write('.kube/config', own);
    const cluster = { server, namespace: 'shop' };
    const several = [{ cluster }, { cluster }, { cluster: { server, namespace: 'till' } }];
    await using one = await around(several);
    const { config } = await readOurs(one.variables.KUBECONFIG);
    expect(config.contexts).toEqual([{ name: 'belay-k8s', context: { cluster: 'belay-k8s', user: 'rita' } }]);
    await using two = await around([
      ...several,
      { provider: 'second', cluster: { server: 'https://other.example.com' } },
    ]);
    const other = (await readOurs(two.variables.KUBECONFIG)).config;
    expect(other['current-context']).toBeUndefined();
    expect(other.contexts).toContainEqual({
      name: 'belay-second',
      context: { cluster: 'belay-second', user: 'guest' },
    });
  });

  it('is not made when the person has set KUBECONFIG', async () => {
    variables = { KUBECONFIG: '/mine' };
    expect((await around([{ cluster: { server } }])).variables).toEqual({});
    expect(said).toEqual([]);
  });
});

describe('the profile of AWS', () => {
  const shared = { variables: { AWS_SSO_ACCOUNT_ID: '123456789012', AWS_SSO_ROLE_NAME: 'ReadOnly' } };
  const profile = (name: string, role = 'ReadOnly') =>
    `[${name}]\nsso_session = acme\nsso_account_id = 123456789012\nsso_role_name=${role}\n\n`;

  it.each([
    ['a profile', `${profile('profile admin', 'Admin')}${profile('profile figures read')}`, 'figures read'],
    ['the default one', profile('default'), 'default'],
    ['two profiles', `${profile('profile one')}${profile('profile two')}`, undefined],
    ['a session of that name', profile('sso-session acme'), undefined],
    ['no file', undefined, undefined],
  ])('is the person’s own for the account and permission set, where it is one: %s', async (_, text, expected) => {
    if (text !== undefined) await write('.aws/config', text);
    const { AWS_PROFILE } = (await around([shared])).variables;
    expect(AWS_PROFILE).toBe(expected);
  });

  it.each(['AWS_PROFILE', 'AWS_ACCESS_KEY_ID'])('is left to the person who has set %s', async (name) => {
    await write('.aws/config', profile('profile figures'));
    variables = { [name]: 'mine' };
    expect((await around([shared])).variables).toEqual(shared.variables);
  });
});
