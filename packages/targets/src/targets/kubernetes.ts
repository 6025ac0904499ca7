import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { findFreePort } from '@belay/host';
import { programs } from './names.js';
import { makeScratch, removeScratch, start } from './run.js';

/** The users that the API server knows by a bearer token; more can be impersonated by the administrator. */
const users = { admin: 'system:masters', belay: '', rita: 'developers', omar: 'developers' };

export interface KubernetesTarget extends AsyncDisposable {
  url: string;
  /** PEM: the authority that signs the server's certificate. */
  ca: string;
  tokens: Record<keyof typeof users, string>;
  /** Calls the API as a user, and returns the status and the JSON of the response. */
  call(
    as: keyof typeof users,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: unknown }>;
}

/** Starts etcd and kube-apiserver with RBAC: no controllers, no scheduler, no kubelet. */
export async function startKubernetes(): Promise<KubernetesTarget> {
  const scratch = await makeScratch('kubernetes');
  const [clients, peers, secure] = await Promise.all([
    findFreePort('127.0.0.1'),
    findFreePort('127.0.0.1'),
    findFreePort('127.0.0.1'),
  ]);
  const etcdUrl = `http://127.0.0.1:${clients}`;
  const etcd = await start(
    programs.etcd,
    [
      `--data-dir=${join(scratch, 'etcd')}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${peers}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peers}`,
      `--initial-cluster=default=http://127.0.0.1:${peers}`,
      // The data need not survive a crash: it is deleted after the test.
      '--unsafe-no-fsync',
    ],
    { scratch, ready: async () => (await fetch(`${etcdUrl}/health`)).ok },
  );
  try {
    const tokens = await writeAccounts(scratch);
    const url = `https://127.0.0.1:${secure}`;
    const target: Omit<KubernetesTarget, keyof AsyncDisposable> = {
      url,
      ca: '',
      tokens,
      call: (as, method, path, body) => callJson(`${url}${path}`, { method, ca: target.ca, token: tokens[as], body }),
    };
    const apiserver = await start(programs.apiserver, apiserverArguments(scratch, etcdUrl, secure), {
      scratch,
      async ready() {
        target.ca = await readFile(join(scratch, 'certificates', 'apiserver.crt'), 'utf8');
        return (await target.call('admin', 'GET', '/readyz')).status === 200;
      },
    });
    return Object.assign(target, {
      async [Symbol.asyncDispose]() {
        await apiserver.stop();
        await etcd.stop();
        await removeScratch(scratch);
      },
    });
  } catch (error) {
    await etcd.stop();
    throw error;
  }
}

/** Writes the key of service accounts and the file of users, and returns the users' tokens. */
async function writeAccounts(scratch: string): Promise<KubernetesTarget['tokens']> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(join(scratch, 'accounts.key'), privateKey.export({ type: 'sec1', format: 'pem' }));
  const rows = Object.entries(users).map(([name, group]) => `token-of-${name},${name},uid-of-${name},"${group}"`);
  await writeFile(join(scratch, 'tokens.csv'), `${rows.join('\n')}\n`);
  const tokens = Object.keys(users).map((name) => [name, `token-of-${name}`]);
  return Object.fromEntries(tokens) as KubernetesTarget['tokens'];
}

function apiserverArguments(scratch: string, etcdUrl: string, port: number): string[] {
  const key = join(scratch, 'accounts.key');
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // A loopback address cannot be an endpoint, and no service needs one.
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    `--cert-dir=${join(scratch, 'certificates')}`,
    '--authorization-mode=RBAC',
    `--token-auth-file=${join(scratch, 'tokens.csv')}`,
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
  ];
}

interface Call {
  method: string;
  ca: string;
  token: string;
  body?: unknown;
}

function callJson(url: string, { method, ca, token, body }: Call): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const asked = request(url, { method, ca, agent: false, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        const json = text.startsWith('{') ? JSON.parse(text) : text;
        resolve({ status: response.statusCode ?? 0, body: json });
      });
    });
    asked.on('error', reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
