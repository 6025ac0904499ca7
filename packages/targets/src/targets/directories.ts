import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findFreePort } from '@belay/host';
import { programs } from './names.js';
import { makeScratch, removeScratch, run, start } from './run.js';

export interface DirectoryTarget extends AsyncDisposable {
  url: string;
  suffix: string;
  /** The account that may do everything. */
  admin: { dn: string; password: string };
}

export interface SlapdTarget extends DirectoryTarget {
  /** Returns all entries with their identifiers, as LDIF: the content of a copy. */
  copy(): Promise<string>;
}

/** Returns whether a port on loopback accepts connections. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true)).once('error', () => end(false));
  });
}

const suffix = 'dc=belay,dc=test';

/**
 * Starts OpenLDAP with a suffix that has only `ou=people` and `ou=groups`, or with the content of another server. `settings` are further
 * lines for the database.
 */
export async function startSlapd({
  settings = [],
  content,
}: {
  settings?: readonly string[];
  content?: string;
} = {}): Promise<SlapdTarget> {
  const scratch = await makeScratch('slapd');
  const port = await findFreePort('127.0.0.1');
  const admin = { dn: `cn=admin,${suffix}`, password: 'the-password-of-admin' };
  const configuration = [
    ...['core', 'cosine', 'inetorgperson', 'nis'].map((name) => `include /etc/ldap/schema/${name}.schema`),
    'modulepath /usr/lib/ldap',
    ...['back_mdb', 'memberof', 'refint', 'dynlist', 'syncprov'].map((name) => `moduleload ${name}`),
    'database mdb',
    `suffix "${suffix}"`,
    `rootdn "${admin.dn}"`,
    `rootpw ${admin.password}`,
    `directory ${join(scratch, 'data')}`,
    ...settings,
  ];
  const tree = [
    `dn: ${suffix}\nobjectClass: dcObject\nobjectClass: organization\ndc: belay\no: Belay\n`,
    ...['people', 'groups'].map((name) => `dn: ou=${name},${suffix}\nobjectClass: organizationalUnit\nou: ${name}\n`),
  ];
  await mkdir(join(scratch, 'data'));
  await writeFile(join(scratch, 'slapd.conf'), `${configuration.join('\n')}\n`);
  await writeFile(join(scratch, 'tree.ldif'), content ?? tree.join('\n'));
  await run(programs.slapadd, ['-f', join(scratch, 'slapd.conf'), '-l', join(scratch, 'tree.ldif')]);
  const url = `ldap://127.0.0.1:${port}`;
  const server = await start(programs.slapd, ['-h', url, '-f', join(scratch, 'slapd.conf'), '-d', '0'], {
    scratch,
    ready: () => listens(port),
  });
  return {
    url,
    suffix,
    admin,
    async copy() {
      const file = join(scratch, 'copy.ldif');
      await run(programs.slapcat, ['-f', join(scratch, 'slapd.conf'), '-l', file]);
      return readFile(file, 'utf8');
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeScratch(scratch);
    },
  };
}

export interface ActiveDirectoryTarget extends DirectoryTarget {
  /** With TLS, by a certificate that the server created. */
  secureUrl: string;
  /** PEM: the authority that signs the server's certificate. */
  ca: string;
  /** PEM: the server's certificate and key, for a proxy before the server in a test. */
  certificate: { cert: string; key: string };
}

/**
 * Provisions and starts an Active Directory domain controller (Samba). It takes a minute, and its ports are fixed: 389 and 636, so
 * that only one can run at a time.
 */
export async function startSamba(): Promise<ActiveDirectoryTarget> {
  if (await listens(389)) throw new Error('samba: something listens on port 389 already');
  const scratch = await makeScratch('samba');
  const password = 'The-Password-0f-Admin';
  const folder = join(scratch, 'domain');
  await run(programs.sambaTool, [
    ...['domain', 'provision', `--targetdir=${folder}`, '--realm=BELAY.TEST', '--domain=BELAY'],
    ...['--server-role=dc', '--dns-backend=NONE', `--adminpass=${password}`, '--host-name=dc1', '--host-ip=127.0.0.1'],
    // Extended attributes of files are kept in a database, because a temporary folder may not support them.
    '--option=vfs objects=dfs_samba4 acl_xattr xattr_tdb',
    `--option=xattr_tdb:file=${join(scratch, 'xattr.tdb')}`,
    ...['--option=interfaces=lo', '--option=bind interfaces only=yes'],
  ]);
  const configuration = join(folder, 'etc', 'smb.conf');
  const server = await start(
    programs.samba,
    ['-i', '-M', 'single', '-s', configuration, '--option=server services=ldap,winbindd'],
    { scratch, ready: async () => (await listens(389)) && (await listens(636)) },
  );
  const dn = 'DC=belay,DC=test';
  const tls = (name: string) => readFile(join(folder, 'private', 'tls', `${name}.pem`), 'utf8');
  return {
    url: 'ldap://127.0.0.1:389',
    secureUrl: 'ldaps://127.0.0.1:636',
    ca: await tls('ca'),
    certificate: { cert: await tls('cert'), key: await tls('key') },
    suffix: dn,
    admin: { dn: `CN=Administrator,CN=Users,${dn}`, password },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await removeScratch(scratch);
    },
  };
}
