import type { ErrorIssue } from '@belay/contract/errors';
import type { Audience } from '@belay/contract/roles';
import type { Access, Capability, Connector } from '@belay/providers';
import type { Pattern, Workflow } from '@belay/workflow';
import type { EventSource } from './event-sources.js';
import type { CompiledNames } from './name-rules.js';
import type {
  CatalogDocument,
  OverseersDefinition,
  ProviderDefinition,
  RoleDefinition,
  WorkflowDefinition,
} from './schema.js';

export interface CompiledProvider {
  id: string;
  definition: ProviderDefinition;
  enabled: boolean;
  connector: Connector;
  capabilities: ReadonlySet<Capability>;
  /** The connector's configuration with its references resolved. Secret: never leaves the process. */
  config: unknown;
  maxDuration: number | undefined;
}

export interface CompiledRole {
  name: string;
  definition: RoleDefinition;
  enabled: boolean;
  providers: string[];
  workflows: string[];
  /** The role's access at each of its providers, with inheritance resolved. */
  accesses: ReadonlyMap<string, readonly Access[]>;
  maxDuration: number;
  defaultDuration: number;
  /** Milliseconds from the decision; then approval must be requested again. */
  approvalLifetime: number;
  reason: { required: boolean; pattern: Pattern | undefined };
  /**
   * Who is told of each use of a role for emergencies; addresses are folded. `review`: who reviews it, and within how many
   * milliseconds after the end of the access.
   */
  breakGlass?: { users: string[]; groups: string[]; review?: { users: string[]; groups: string[]; within: number } };
}

export interface CompiledWorkflow {
  name: string;
  definition: WorkflowDefinition;
  enabled: boolean;
  workflow: Workflow;
  digest: string;
}

/** One version of the configuration, ready to act on. */
export interface Catalog {
  /** 0 until it is stored. */
  version: number;
  document: CatalogDocument;
  digest: string;
  providers: ReadonlyMap<string, CompiledProvider>;
  roles: ReadonlyMap<string, CompiledRole>;
  workflows: ReadonlyMap<string, CompiledWorkflow>;
  /** Providers where people may request permissions and groups directly, with the bounds of such requests. */
  dynamic: ReadonlyMap<string, CompiledBounds>;
  /** The enabled sign-in providers. */
  authenticators: readonly string[];
  /** Settings that are accepted, but are probably a mistake. */
  warnings: readonly ErrorIssue[];
  /** The `approvalLifetime` of requests that name no role, in milliseconds. */
  approvalLifetime: number;
  callbacks: readonly string[];
  /** When logins end regardless of their use, in milliseconds. */
  loginEnd: { readonly browser: number; readonly device: number };
  /** How long archived ledger entries and ended requests are kept, in milliseconds; null for ever. */
  retention: { readonly ledger: number | null; readonly requests: number | null };
  /** How often each provider is compared with its rows, in milliseconds; null for the built-in interval. */
  driftInterval: number | null;
  httpHosts: readonly { host: string; allowPrivate: boolean }[];
  /** Programs that may send events, by name. Secret: never leaves the process. */
  eventSources: ReadonlyMap<string, EventSource>;
  /** Who oversees everything; an absent key names no one. */
  overseers: { administrators?: OverseersDefinition | undefined; auditors?: OverseersDefinition | undefined };
  /** The limits per person. */
  limits: {
    openRequests: number;
    requestsPerHour: number;
    listsPerHour: number;
    eventStreams: number;
    signals: number;
  };
}

/** The bounds of a request for permissions and groups at a provider. */
export interface CompiledBounds {
  permissions: CompiledNames;
  resources: CompiledNames;
  groups: CompiledNames;
  workflows: readonly string[];
  requesters: Audience;
  delegates: Audience | undefined;
  authenticators: readonly string[] | undefined;
  /** Milliseconds. */
  maxDuration: number;
  defaultDuration: number;
}

/** Returns `1.0.N`, the interface's form of a catalog's version (docs/interface.md, section 16, rule 10). */
export function versionText(version: number): string {
  return `1.0.${version}`;
}
