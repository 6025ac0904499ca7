import type { ErrorIssue } from '@belay/contract/errors';
import type { Audience } from '@belay/contract/roles';
import type { Access, Capability, Connector } from '@belay/providers';
import type { Pattern, Workflow } from '@belay/workflow';
import type { EventSource } from './event-sources.js';
import type { CompiledNames } from './name-rules.js';
import type { CatalogDocument, ProviderDefinition, RoleDefinition, WorkflowDefinition } from './schema.js';

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
  /** What the role holds at each of its providers, inheritance resolved. */
  accesses: ReadonlyMap<string, readonly Access[]>;
  maxDuration: number;
  defaultDuration: number;
  /** Milliseconds from the decision; then the approvers are asked again. */
  approvalLifetime: number;
  reason: { required: boolean; pattern: Pattern | undefined };
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
  /** Providers at which people may ask for access of their own choosing, and within which bounds. */
  dynamic: ReadonlyMap<string, CompiledBounds>;
  /** The enabled providers that people sign in with. */
  authenticators: readonly string[];
  /** What is taken, but is hardly meant. */
  warnings: readonly ErrorIssue[];
  /** Milliseconds; of requests that name no role. */
  approvalLifetime: number;
  callbacks: readonly string[];
  /** When logins end however much they are used, in milliseconds. */
  loginEnd: { readonly browser: number; readonly device: number };
  httpHosts: readonly { host: string; allowPrivate: boolean }[];
  /** Programs that may send events, by name. Secret: never leaves the process. */
  eventSources: ReadonlyMap<string, EventSource>;
  /** What one person may have at a time. */
  limits: { openRequests: number; eventStreams: number; signals: number };
}

/** Within what people may put together a request of their own at a provider. */
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
