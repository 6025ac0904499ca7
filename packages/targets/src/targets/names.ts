import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const targetNames = [
  'kubernetes',
  'slapd',
  'samba',
  'mariadb',
  'moto',
  'scim2-tester',
  'helm',
  'keycloak',
] as const;
/** A system that has to be installed before tests can run on it. The emulators from npm are always installed. */
export type TargetName = (typeof targetNames)[number];

/** Where builds and environments are kept, outside any checkout, so that every clone shares them. */
export const cache = join(homedir(), '.cache', 'belay-targets');
export const versions = {
  kubernetes: '1.36.3',
  moto: '5.2.5',
  'scim2-tester': '0.5.2',
  helm: '3.16.4',
  keycloak: '26.5.6',
};

export const programs = {
  apiserver: join(cache, `kubernetes-${versions.kubernetes}`, 'kube-apiserver'),
  etcd: join(cache, `kubernetes-${versions.kubernetes}`, 'etcd'),
  moto: join(cache, `moto-${versions.moto}`, 'bin', 'moto_server'),
  scim2: join(cache, `scim2-tester-httpx2-${versions['scim2-tester']}`, 'bin', 'python3'),
  helm: join(cache, `helm-${versions.helm}`, 'helm'),
  keycloak: join(cache, `keycloak-${versions.keycloak}`, 'bin', 'kc.sh'),
  slapd: '/usr/sbin/slapd',
  slapadd: '/usr/sbin/slapadd',
  slapcat: '/usr/sbin/slapcat',
  samba: '/usr/sbin/samba',
  sambaTool: '/usr/bin/samba-tool',
  mariadbd: '/usr/sbin/mariadbd',
  installMariadb: '/usr/bin/mariadb-install-db',
  galera: '/usr/lib/galera/libgalera_smm.so',
};

const needed: Record<TargetName, string[]> = {
  kubernetes: [programs.apiserver, programs.etcd],
  slapd: [programs.slapd, programs.slapadd, '/etc/ldap/schema/core.schema'],
  // Without its modules `samba-tool domain provision` fails half-way.
  samba: [programs.samba, programs.sambaTool, '/usr/share/samba/setup/provision.ldif', '/usr/sbin/winbindd'],
  mariadb: [programs.mariadbd, programs.installMariadb, programs.galera, '/usr/bin/my_print_defaults'],
  moto: [programs.moto],
  'scim2-tester': [programs.scim2],
  helm: [programs.helm],
  keycloak: [programs.keycloak],
};

/** Returns whether a target can be started on this machine. */
export function isInstalled(name: TargetName): boolean {
  return needed[name].every((file) => existsSync(file));
}

/** Returns the targets that tests below a folder run on, by the names of their files: `<what>.on-<target>.test.ts`. */
export function findUsed(packages: string): TargetName[] {
  const files = readdirSync(packages, { withFileTypes: true })
    .map((entry) => join(packages, entry.name, 'test'))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }));
  return targetNames.filter((name) => files.some((file) => file.endsWith(`.on-${name}.test.ts`)));
}
