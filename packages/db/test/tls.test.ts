import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@belay/db';
import { type EmbeddedPostgres, startTemporaryPostgres } from '@belay/embedded-postgres';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../providers/test/support/certificate.js';
import { openQueueBackend } from '../../worker/src/open-backend.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const named = makeCertificate(['localhost']);
const numbered = makeCertificate(['db.example.test'], { addresses: ['127.0.0.1'] });
const expired = makeCertificate(['localhost'], { until: -60_000 });
const other = makeCertificate(['localhost']);

let server: EmbeddedPostgres;
let admin: postgres.Sql;
let data: string;
let folder: string;

beforeAll(async () => {
  server = await startTemporaryPostgres({ name: 'tls' });
  admin = createClient(server.url('postgres'), { max: 1, silence: 10_000 });
  data = (await admin<{ data: string }[]>`select current_setting('data_directory') as data`)[0]?.data ?? '';
  folder = mkdtempSync(join(tmpdir(), 'belay-tls-'));
  for (const [name, { cert }] of Object.entries({ named, numbered, expired, other })) {
    writeFileSync(join(folder, `${name}.pem`), cert);
  }
});
afterAll(async () => {
  await admin?.end({ timeout: 0 });
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Makes the server offer TLS with a certificate, or without one no TLS. */
async function offer(certificate?: { key: string; cert: string }): Promise<void> {
  // Turned off in between, because a new session may still be served with the certificate of before.
  await switchTls('off');
  if (certificate === undefined) return;
  const { uid, gid } = statSync(data);
  for (const [name, text] of Object.entries({ 'server.crt': certificate.cert, 'server.key': certificate.key })) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    chownSync(join(data, name), uid, gid);
  }
  await switchTls('on');
}

async function switchTls(to: 'on' | 'off'): Promise<void> {
  await admin.unsafe(`alter system set ssl = ${to}`);
  await admin`select pg_reload_conf()`;
  const look = async () => {
    const probe = createClient(urlOf('127.0.0.1', 'sslmode=disable'), { max: 1, silence: 5_000 });
    const [row] = await probe<{ ssl: string }[]>`select current_setting('ssl') as ssl`;
    await probe.end({ timeout: 0 });
    return row?.ssl;
  };
  await expect.poll(look).toBe(to);
}

function urlOf(host: string, parameters: string): string {
  const url = new URL(server.url('postgres'));
  url.hostname = host;
  return `${url.href}${parameters ? `?${parameters}` : ''}`;
}

const file = (name: string) => encodeURIComponent(join(folder, `${name}.pem`));

/** Returns whether the connection of Belay's own driver is encrypted, or the code and the message of its error. */
async function connectByRows(url: string): Promise<boolean | string> {
  let client: postgres.Sql | undefined;
  try {
    client = createClient(url, { max: 1, silence: 5_000 });
    const [row] = await client<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return row?.ssl ?? 'no row';
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string };
    return `${code} ${message}`;
  } finally {
    await client?.end({ timeout: 0 });
  }
}

/** The same for the connections of the queue. */
async function connectByJobs(url: string): Promise<boolean | string> {
  try {
    const backend = await openQueueBackend({ databaseUrl: url, log: quiet });
    try {
      const health = await backend.check();
      const [row] = await admin<{ ssl: boolean }[]>`
        select bool_and(s.ssl) as ssl from pg_stat_ssl s join pg_stat_activity a using (pid)
        where a.application_name = 'belay-queue'`;
      return health === 'healthy' ? (row?.ssl ?? 'no row') : health;
    } finally {
      await backend.close();
    }
  } catch (error) {
    const { cause } = error as { cause?: { code?: string; message: string } };
    return `${cause?.code ?? ''} ${cause?.message}`;
  }
}

describe.each([
  ['rows', connectByRows],
  ['jobs', connectByJobs],
])('the connections for %s', (_, connect) => {
  it.each([
    ['nothing said', '', false],
    ['disable', 'sslmode=disable', false],
    ['prefer', 'sslmode=prefer', true],
    ['require, of a certificate that is not trusted', 'sslmode=require', true],
    ['require, as JDBC writes it', 'ssl=true', true],
    ['require with the parameter of node-postgres', 'sslmode=require&uselibpqcompat=true', true],
    ['require as hosts write it', 'sslmode=require&channel_binding=require&gssencmode=disable', true],
  ])('at 127.0.0.1 with %s', async (_, parameters, encrypted) => {
    await offer(named);
    expect(await connect(urlOf('127.0.0.1', parameters))).toBe(encrypted);
  });

  it('verify the host with verify-full, and a numeric one as that address', async () => {
    await offer(named);
    const full = `sslmode=verify-full&sslrootcert=${file('named')}`;
    expect(await connect(urlOf('localhost', full))).toBe(true);
    expect(await connect(urlOf('127.0.0.1', full))).not.toBe(true);
    await offer(numbered);
    const asNumber = `sslmode=verify-full&sslrootcert=${file('numbered')}`;
    expect(await connect(urlOf('127.0.0.1', asNumber))).toBe(true);
    expect(await connect(urlOf('localhost', asNumber))).not.toBe(true);
  });

  it('verify only the authority with verify-ca, and with require where sslrootcert names it', async () => {
    await offer(named);
    for (const mode of ['verify-ca', 'require']) {
      const result = [await connect(urlOf('127.0.0.1', `sslmode=${mode}&sslrootcert=${file('named')}`))];
      result.push(await connect(urlOf('127.0.0.1', `sslmode=${mode}&sslrootcert=${file('other')}`)));
      expect(result).toEqual([true, expect.any(String)]);
    }
  });

  it('use a server without TLS with prefer, and not with require', async () => {
    await offer();
    expect(await connect(urlOf('127.0.0.1', 'sslmode=prefer'))).toBe(false);
    expect(await connect(urlOf('127.0.0.1', 'sslmode=require'))).toEqual(expect.any(String));
  });

  it('reject parameters that mean nothing, or that libpq rejects', async () => {
    const outcome = (parameters: string) => connect(urlOf('127.0.0.1', parameters));
    expect(await outcome('sslmode=on')).toMatch(/sslmode=on is not one of disable, /);
    expect(await outcome('sslmode=verify-ca')).toMatch(/sslmode=verify-ca needs sslrootcert/);
    expect(await outcome('sslmode=require&sslrootcert=system')).toMatch(/sslrootcert=system needs sslmode=verify-full/);
    expect(await outcome('sslmode=require&sslcrl=revoked.pem')).toMatch(/sslcrl is not supported/);
    expect(await outcome('sslmode=verify-full&sslrootcert=/none.pem')).toMatch(
      /sslrootcert: the file \/none\.pem cannot be read \(ENOENT\)/,
    );
  });
});

it('says of each failure which certificate and why', async () => {
  const full = (root: string) => `sslmode=verify-full&sslrootcert=${file(root)}`;
  const cases: [Parameters<typeof offer>[0], string, string, RegExp][] = [
    [named, 'localhost', full('other'), /^TLS_CERTIFICATE .* is self-signed and not trusted here \(DEPTH_ZERO/],
    [named, '127.0.0.1', full('named'), /^TLS_CERTIFICATE .* is not for the address in the URL/],
    [numbered, 'localhost', full('numbered'), /^TLS_CERTIFICATE .* is not for the name in the URL/],
    [expired, 'localhost', full('expired'), /^TLS_CERTIFICATE .* has expired \(CERT_HAS_EXPIRED\)/],
    [undefined, 'localhost', full('named'), /^TLS_NOT_OFFERED /],
  ];
  for (const [certificate, host, parameters, expected] of cases) {
    await offer(certificate);
    const outcome = await connectByRows(urlOf(host, parameters));
    expect(outcome).toMatch(expected);
    if (certificate)
      expect(outcome).toMatch(
        /the certificate of belay test, issued by belay test, valid from .* SHA-256 [0-9A-F]{16}/,
      );
  }
});
