import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { printable } from '@belay/contract/printable';
import type { Cluster, Connections } from '@belay/sdk';
import type { Environment } from '../host.js';
import { findUser } from './kubeconfig-user.js';

type Shared = Connections['connections'];

/** Tells a command where the systems are. Disposing of it removes its files. */
export interface Surroundings extends AsyncDisposable {
  variables: Record<string, string>;
}

interface Around {
  host: Pick<Environment, 'variables' | 'home' | 'platform'>;
  say(text: string): void;
}

/**
 * Returns what tells a command where the systems of its access are: environment variables, except those with different values for two
 * systems; a temporary kubeconfig, in front of the person's own; and the person's AWS profile for the account and permission set. It
 * replaces no setting of the person and contains no secret: the command uses the person's own credentials.
 */
export async function surround(connections: Shared, around: Around): Promise<Surroundings> {
  const variables = unite(connections.map((one) => one.variables));
  const profile = await findProfile(variables, around.host);
  if (profile !== undefined) variables.AWS_PROFILE = profile;
  const clusters = uniteClusters(connections);
  if (clusters.size === 0 || around.host.variables.KUBECONFIG !== undefined) {
    return { variables, [Symbol.asyncDispose]: async () => {} };
  }
  const own = path.join(around.host.home, '.kube', 'config');
  const text = await writeKubeconfig(clusters, own, around.say);
  const folder = await mkdtemp(path.join(tmpdir(), 'belay-run-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const file = path.join(folder, 'kubeconfig');
    await writeFile(file, text, { mode: 0o600 });
    variables.KUBECONFIG = [file, own].join(around.host.platform === 'win32' ? ';' : ':');
  } catch (error) {
    await remove();
    throw error;
  }
  return { variables, [Symbol.asyncDispose]: remove };
}

/**
 * The variables that a command gets from a server (docs/cli.md, Run). With others, such as NODE_OPTIONS or LD_PRELOAD, a malicious server
 * could run its own programs on this machine.
 */
const accepted = new Set([
  ...['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER'],
  ...['MYSQL_HOST', 'MYSQL_TCP_PORT', 'MYSQL_USER'],
  ...['AWS_ACCOUNT_ID', 'AWS_SSO_ACCOUNT_ID', 'AWS_SSO_ROLE_NAME'],
  'CLOUDSDK_CORE_PROJECT',
  ...['AZURE_SUBSCRIPTION_ID', 'ARM_SUBSCRIPTION_ID', 'AZURE_DEFAULTS_GROUP'],
  ...['GH_HOST', 'GH_REPO'],
  'LDAPURI',
]);

/** Returns the accepted variables of all systems, without those with two different values. */
function unite(all: readonly Record<string, string>[]): Record<string, string> {
  const pairs = all
    .flatMap((variables) => Object.entries(variables ?? {}))
    .filter(([name, value]) => accepted.has(name) && typeof value === 'string' && !value.includes('\0'));
  return Object.fromEntries(pairs.filter(([name, value]) => pairs.every(([n, v]) => n !== name || v === value)));
}

/** Returns each provider's cluster, with a namespace only when all access to that cluster is in the same one. */
function uniteClusters(connections: Shared): Map<string, Cluster> {
  const clusters = new Map<string, Cluster>();
  for (const { provider, cluster } of connections) {
    if (cluster === undefined) continue;
    const { namespace, ...rest } = clusters.get(provider) ?? cluster;
    const same = namespace !== undefined && namespace === cluster.namespace;
    clusters.set(provider, { ...rest, ...(same && { namespace }) });
  }
  return clusters;
}

/**
 * Returns a kubeconfig with a context for each cluster, and with the person's user of that cluster. A single context is the current one.
 * The text is JSON, which is valid YAML.
 */
async function writeKubeconfig(
  clusters: ReadonlyMap<string, Cluster>,
  own: string,
  say: (text: string) => void,
): Promise<string> {
  // The names get a prefix: for equal names, this file would take precedence over the person's own.
  const names = [...clusters].map(([provider, cluster]) => ({ name: `belay-${provider}`, cluster }));
  const users = await Promise.all(names.map(({ cluster }) => findUser(own, cluster.server)));
  names.forEach(({ cluster }, index) => {
    if (users[index] !== undefined) return;
    const server = printable(cluster.server);
    say(`~/.kube/config does not say which user you are at ${server}; name yours, for example kubectl --user`);
  });
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: names.map(({ name, cluster: { server, certificate_authority: ca } }) => ({
      name,
      cluster: {
        server,
        ...(ca !== undefined && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
      },
    })),
    contexts: names.map(({ name, cluster: { namespace } }, index) => ({
      name,
      context: {
        cluster: name,
        ...(users[index] !== undefined && { user: users[index] }),
        ...(namespace !== undefined && { namespace }),
      },
    })),
    ...(names.length === 1 && { 'current-context': names[0]?.name }),
  });
}

/** Returns the person's only AWS profile for the account and permission set; undefined when the person has already set a profile or key. */
async function findProfile(
  { AWS_SSO_ACCOUNT_ID: account, AWS_SSO_ROLE_NAME: role }: Readonly<Record<string, string>>,
  { variables, home }: Around['host'],
): Promise<string | undefined> {
  const set = ['AWS_PROFILE', 'AWS_DEFAULT_PROFILE', 'AWS_ACCESS_KEY_ID'];
  if (account === undefined || role === undefined || set.some((name) => variables[name] !== undefined))
    return undefined;
  const file = variables.AWS_CONFIG_FILE ?? path.join(home, '.aws', 'config');
  const text = await readFile(file, 'utf8').catch(() => '');
  const [, ...sections] = text.split(/^\s*\[/m);
  const found = sections.flatMap((section) => {
    const name = /^(?:profile\s+([^\]]+)|(default)\s*)\]/.exec(section);
    const has = (key: string, value: string) =>
      section.split('\n').some((line) => {
        const [, given, text] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
        return given === key && text === value;
      });
    const profile = (name?.[1] ?? name?.[2])?.trim();
    return profile !== undefined && has('sso_account_id', account) && has('sso_role_name', role) ? [profile] : [];
  });
  return found.length === 1 ? found[0] : undefined;
}
