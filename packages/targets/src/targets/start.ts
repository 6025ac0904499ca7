import { type ActiveDirectoryTarget, type SlapdTarget, startSamba, startSlapd } from './directories.js';
import { type KeycloakTarget, startKeycloak } from './keycloak.js';
import { type KubernetesTarget, startKubernetes } from './kubernetes.js';
import { isInstalled, type TargetName } from './names.js';
import { type HttpTarget, type MariadbTarget, startMariadb, startMoto } from './servers.js';

/** What each target provides to its tests. `scim2-tester` and `helm` are not servers: `programs` has their paths. */
export interface Targets {
  kubernetes: KubernetesTarget;
  slapd: SlapdTarget;
  samba: ActiveDirectoryTarget;
  mariadb: MariadbTarget;
  moto: HttpTarget;
  keycloak: KeycloakTarget;
}

/** The options with which a target can be started. */
interface TargetOptions {
  /** Further lines of the configuration, for the database; the entries of another server. */
  slapd: { settings?: readonly string[]; content?: string };
  /** Further options of the server. */
  mariadb: { settings?: readonly string[] };
}

type OptionsOf<Name> = Name extends keyof TargetOptions ? TargetOptions[Name] : undefined;

const starts: { [Name in keyof Targets]: (options?: OptionsOf<Name>) => Promise<Targets[Name]> } = {
  kubernetes: startKubernetes,
  slapd: startSlapd,
  samba: startSamba,
  mariadb: startMariadb,
  moto: startMoto,
  keycloak: startKeycloak,
};

/** Starts a new target on loopback, in a scratch folder. Throws when it is not installed: `npm run targets -- install`. */
export function startTarget<Name extends keyof Targets>(name: Name, options?: OptionsOf<Name>): Promise<Targets[Name]> {
  if (!isInstalled(name satisfies TargetName)) {
    throw new Error(`${name} is not installed on this machine: npm run targets -- install ${name}`);
  }
  return starts[name](options);
}
