import { mkdir, rename, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cache, isInstalled, programs, type TargetName, versions } from './names.js';
import { run } from './run.js';

const debian = {
  slapd: ['slapd', 'ldap-utils'],
  samba: ['samba', 'samba-ad-provision', 'samba-dsdb-modules', 'samba-vfs-modules', 'winbind'],
  mariadb: ['mariadb-server-core', 'mariadb-client-core', 'galera-4'],
};

/** Installs a target unless it is already installed. Throws with the command to run by hand when root is required. */
export async function installTarget(name: TargetName, say: (line: string) => void): Promise<void> {
  if (isInstalled(name)) return;
  say(`installing ${name}`);
  if (name === 'kubernetes') await buildKubernetes();
  else if (name === 'helm') await buildHelm();
  else if (name === 'keycloak') await buildKeycloak();
  else if (name === 'moto') await installPython(dirname(dirname(programs.moto)), `moto[server]==${versions.moto}`);
  else if (name === 'scim2-tester') {
    await installPython(dirname(dirname(programs.scim2)), `scim2-tester[httpx2]==${versions['scim2-tester']}`);
  } else await installDebian(debian[name]);
  if (!isInstalled(name)) throw new Error(`${name} is not complete after its installation`);
}

async function installDebian(packages: string[]): Promise<void> {
  const command = ['apt-get', 'install', '-y', '-qq', '--no-install-recommends', ...packages];
  if (userInfo().uid !== 0) throw new Error(`not root; run: ${command.join(' ')}`);
  // Only the programs are needed: this keeps Debian from starting their services.
  const quiet = ['DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1'];
  await run('env', [...quiet, 'apt-get', 'update', '-qq']);
  await run('env', [...quiet, ...command]);
}

async function installPython(folder: string, requirement: string): Promise<void> {
  await run('python3', ['-m', 'venv', folder]);
  await run(join(folder, 'bin', 'pip'), ['install', '-q', requirement]);
}

/**
 * Builds kube-apiserver and etcd from one Go module: six minutes of processor time, once for each version and machine.
 */
async function buildKubernetes(): Promise<void> {
  const module = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'go', 'kubernetes');
  const version = `-X k8s.io/component-base/version.gitVersion=v${versions.kubernetes}`;
  await mkdir(cache, { recursive: true });
  for (const [program, source] of [
    [programs.etcd, 'go.etcd.io/etcd/server/v3'],
    [programs.apiserver, 'k8s.io/kubernetes/cmd/kube-apiserver'],
  ] as const) {
    await run('go', ['build', '-trimpath', '-ldflags', `-s -w ${version}`, '-o', program, source], { cwd: module });
  }
}

/** Builds helm: two minutes of processor time, once for each version and machine. */
async function buildHelm(): Promise<void> {
  const folder = dirname(programs.helm);
  await mkdir(folder, { recursive: true });
  await run('env', [`GOBIN=${folder}`, 'go', 'install', '-trimpath', `helm.sh/helm/v3/cmd/helm@v${versions.helm}`]);
}

/** Unpacks Keycloak and builds it for a database in memory: ten seconds, once for each version and machine. */
async function buildKeycloak(): Promise<void> {
  await run('mvn', ['-v']).catch(() => installDebian(['maven', 'default-jre-headless']));
  const folder = dirname(dirname(programs.keycloak));
  const part = `${folder}.part`;
  await rm(part, { recursive: true, force: true });
  await mkdir(part, { recursive: true });
  const unpack = [
    ...['-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack'],
    `-Dartifact=org.keycloak:keycloak-quarkus-dist:${versions.keycloak}:zip`,
    `-DoutputDirectory=${part}`,
  ];
  // Maven writes files into its working directory.
  await run('mvn', unpack, { cwd: part });
  const unpacked = join(part, basename(folder));
  await run(join(unpacked, 'bin', 'kc.sh'), ['build', '--db=dev-mem']);
  // Renamed at the end, so that an interrupted installation is unpacked again.
  await rename(unpacked, folder);
  await rm(part, { recursive: true });
}
