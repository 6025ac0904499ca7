import { canonicalJson, digestOf } from '@belay/contract/canonical';
import { formatDuration, parseDuration } from '@belay/contract/durations';
import { type ErrorIssue, pathText } from '@belay/contract/errors';
import type { Access, Connector, ConnectorRegistry } from '@belay/providers';
import {
  compileExpressions,
  compilePattern,
  compileSchemas,
  type Expression,
  type Issue,
  type Pattern,
  parseWorkflow,
  type Schema,
} from '@belay/workflow';
import { type Breathe, inOnePiece } from '../breathe.js';
import { readDuration } from '../duration.js';
import { timing } from '../timing.js';
import { checkAuthenticators } from './authenticators.js';
import { readBreakGlass } from './break-glass.js';
import type { Catalog, CompiledProvider, CompiledRole, CompiledWorkflow } from './catalog.js';
import { checkListens } from './check-listens.js';
import { checkMessages } from './check-messages.js';
import { checkOverseers } from './check-overseers.js';
import { cutDurations } from './cut-durations.js';
import { compileDynamic } from './dynamic.js';
import { compileEventSources } from './event-sources.js';
import { functionChecks } from './function-checks.js';
import { type Contribution, collectAccess, type RoleGraph } from './inherit.js';
import { type ConfigurationIssue, issuesOfShape, unknownName } from './issue.js';
import { parseCatalog } from './parse.js';
import { type ResolveReference, resolveReferences } from './references.js';
import type { CatalogDocument, RoleDefinition } from './schema.js';
import { checkServices } from './services.js';
import { writeDocument } from './write-document.js';

export interface CompileOptions {
  connectors: ConnectorRegistry;
  resolve: ResolveReference;
  /** Yields to the event loop between the parts of a long catalog; without it, the catalog is compiled in one piece. */
  breathe?: Breathe | undefined;
}

export type CompileResult = { ok: true; catalog: Catalog } | { ok: false; issues: ConfigurationIssue[] };

export { versionText } from './catalog.js';

/**
 * Checks a whole configuration and compiles it. Calls no provider. Returns every issue found, each with the path of
 * its key, as in `roles.admin.providers[0]`. The document must not change meanwhile.
 */
export async function compileCatalog(given: unknown, options: CompileOptions): Promise<CompileResult> {
  const { breathe = inOnePiece } = options;
  const parsed = await parseCatalog(given, breathe);
  if (!parsed.ok) return parsed;
  const { document } = parsed;
  const issues: ErrorIssue[] = [];
  checkServices(document, options, issues);
  const providers = compileProviders(document, options, issues);
  const { authenticators, warnings } = checkAuthenticators(providers, issues);
  checkMessages(document.messages, providers, issues);
  const eventSources = compileEventSources(document, options.resolve, issues);
  const workflows = await compileWorkflows(document, issues, breathe);
  for (const { name, workflow } of workflows.values()) checkListens(name, workflow, eventSources, issues);
  const serverMaximum =
    readDuration(document.server.max_duration, 'server.max_duration', issues) ?? timing.maximumDuration;
  const loginEnd = compileLoginEnd(document.server.login, issues);
  const retention = compileRetention(document.server.retention, issues);
  const approvalLifetime =
    readDuration(document.server.approval_lifetime, 'server.approval_lifetime', issues) ?? timing.approvalLifetime;
  const driftInterval = compileDriftInterval(document.server.drift_interval, issues);
  const roles = await compileRoles(document, providers, { serverMaximum, approvalLifetime, breathe }, issues);
  const dynamic = compileDynamic({ providers, workflows, serverMaximum }, issues);
  if (issues.length > 0) return { ok: false, issues };
  const catalog: Catalog = {
    version: 0,
    document,
    digest: (await writeDocument(document, breathe)).digest,
    providers,
    roles,
    workflows,
    dynamic,
    authenticators,
    warnings: [
      ...warnings,
      ...cutDurations(document, serverMaximum),
      ...checkOverseers(document.access, { providers, authenticators }),
    ],
    approvalLifetime,
    callbacks: document.server.callbacks,
    loginEnd,
    driftInterval,
    retention,
    httpHosts: document.server.http_hosts.map((entry) => ({ host: entry.host, allowPrivate: entry.allow_private })),
    eventSources,
    overseers: document.access ?? {},
    limits: compileLimits(document.server.limits),
  };
  return { ok: true, catalog };
}

function compileLimits(limits: CatalogDocument['server']['limits']): Catalog['limits'] {
  const { open_requests, requests_per_hour, lists_per_hour, event_streams, signals } = limits;
  return {
    openRequests: open_requests,
    requestsPerHour: requests_per_hour,
    listsPerHour: lists_per_hour,
    eventStreams: event_streams,
    signals,
  };
}

/**
 * Returns entries ordered by name. A document that was stored as `jsonb` is ordered by the length of its keys, and
 * lists must not depend on that.
 */
function inOrderOfName<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
}

function compileProviders(document: CatalogDocument, options: CompileOptions, issues: ErrorIssue[]) {
  const providers = new Map<string, CompiledProvider>();
  for (const [id, definition] of inOrderOfName(document.providers)) {
    const path = `providers.${id}`;
    const connector = options.connectors.get(definition.provider);
    if (!connector) {
      const known = [...options.connectors.keys()].sort().join(', ');
      const message = `"${definition.provider}" is not a provider type; available: ${known}`;
      issues.push(unknownName(`${path}.provider`, message, definition.provider, () => options.connectors.keys()));
      continue;
    }
    const unresolved: ErrorIssue[] = [];
    const resolved = resolveReferences(definition.config, `${path}.config`, options.resolve, unresolved);
    // A disabled provider may lack its secrets.
    if (definition.enabled) issues.push(...unresolved);
    const config = connector.config.safeParse(resolved, { reportInput: true });
    if (!config.success && definition.enabled && unresolved.length === 0) {
      issues.push(
        ...config.error.issues.flatMap((issue) =>
          issuesOfShape(issue, connector.config, (inner) => pathText(['providers', id, 'config', ...inner])),
        ),
      );
    }
    const taken = definition.capabilities?.filter((capability) => !connector.capabilities.includes(capability)) ?? [];
    for (const capability of taken) {
      issues.push({
        path: `${path}.capabilities`,
        message: `the provider type ${connector.type} does not support ${capability}`,
      });
    }
    const decides = config.success && (connector.verdicts?.(config.data) ?? []).length > 0;
    if (decides && (definition.trusted_email_domains ?? []).length === 0) {
      const message = 'must name the domains whose members decide by message; without it no click counts';
      issues.push({ path: `${path}.trusted_email_domains`, message });
    }
    readDuration(definition.calls?.per, `${path}.calls.per`, issues);
    providers.set(id, {
      id,
      definition,
      enabled: definition.enabled,
      connector,
      capabilities: new Set(definition.capabilities ?? connector.capabilities),
      config: config.success ? config.data : undefined,
      maxDuration: readDuration(definition.max_duration, `${path}.max_duration`, issues),
    });
  }
  return providers;
}

async function compileWorkflows(document: CatalogDocument, issues: ErrorIssue[], breathe: Breathe) {
  const workflows = new Map<string, CompiledWorkflow>();
  const expressions: Expression[] = [];
  const schemas: Schema[] = [];
  for (const [name, definition] of inOrderOfName(document.workflows)) {
    await breathe();
    checkName(definition.name, name, `workflows.${name}`, issues);
    const result = parseWorkflow(definition.workflow, { functions: functionChecks });
    const place = `workflows.${name}.workflow`;
    if (!result.ok) {
      issues.push(...result.issues.map((issue) => workflowIssue({ ...issue, path: `${place}${issue.path}` })));
      continue;
    }
    schemas.push(...result.schemas.map((each) => ({ ...each, path: `${place}${each.path}` })));
    expressions.push(...result.expressions.map((each) => ({ ...each, path: `${place}${each.path}` })));
    const digest = digestOf(definition.workflow);
    workflows.set(name, { name, definition, enabled: definition.enabled, workflow: result.workflow, digest });
  }
  const found = [...(await compileExpressions(expressions)), ...(await compileSchemas(schemas))];
  issues.push(...found.map(workflowIssue));
  return workflows;
}

function workflowIssue({ path, message, code }: Issue): ErrorIssue {
  return { path, message: `${message} (${code})` };
}

async function compileRoles(
  document: CatalogDocument,
  providers: ReadonlyMap<string, CompiledProvider>,
  { serverMaximum, approvalLifetime, breathe }: { serverMaximum: number; approvalLifetime: number; breathe: Breathe },
  issues: ErrorIssue[],
) {
  const graph: RoleGraph = { roles: document.roles, providers: document.providers };
  const roles = new Map<string, CompiledRole>();
  for (const [name, definition] of inOrderOfName(document.roles)) {
    await breathe();
    const path = `roles.${name}`;
    checkName(definition.name, name, path, issues);
    definition.workflows.forEach((workflow, index) => {
      if (!(workflow in document.workflows)) {
        const message = `there is no workflow "${workflow}"`;
        const known = () => Object.keys(document.workflows);
        issues.push(unknownName(`${path}.workflows[${index}]`, message, workflow, known));
      }
    });
    const accesses = planAccess(name, definition, graph, providers, issues);
    const maxDuration = Math.min(
      readDuration(definition.max_duration, `${path}.max_duration`, issues) ?? serverMaximum,
      serverMaximum,
    );
    const defaultDuration =
      readDuration(definition.default_duration, `${path}.default_duration`, issues) ??
      Math.min(timing.defaultDuration, maxDuration);
    if (defaultDuration > maxDuration) {
      issues.push({ path: `${path}.default_duration`, message: 'is longer than the longest duration allowed' });
    }
    issues.push(...shorterThanMinimum(path, accesses, providers, { maxDuration, defaultDuration }));
    const reason = {
      required: definition.reason?.required ?? true,
      pattern: readPattern(definition.reason?.pattern, path, issues),
    };
    const breakGlass = readBreakGlass(document, definition, path, issues);
    roles.set(name, {
      name,
      definition,
      enabled: definition.enabled,
      providers: definition.providers,
      workflows: definition.workflows,
      accesses,
      maxDuration,
      defaultDuration,
      approvalLifetime:
        readDuration(definition.approval_lifetime, `${path}.approval_lifetime`, issues) ?? approvalLifetime,
      reason,
      ...(breakGlass === undefined ? {} : { breakGlass }),
    });
  }
  return roles;
}

/** Checks that the name of a role or a workflow, where it is given, is the same as its key. */
function checkName(given: string | undefined, key: string, path: string, issues: ErrorIssue[]): void {
  if (given !== undefined && given !== key)
    issues.push({ path: `${path}.name`, message: `must be "${key}", the same as its key` });
}

function planAccess(
  name: string,
  definition: RoleDefinition,
  graph: RoleGraph,
  providers: ReadonlyMap<string, CompiledProvider>,
  issues: ErrorIssue[],
): Map<string, readonly Access[]> {
  const path = `roles.${name}`;
  const accesses = new Map<string, readonly Access[]>();
  const requests = collectAccess(name, graph, issues);
  definition.providers.forEach((id, index) => {
    const at = `${path}.providers[${index}]`;
    const provider = providers.get(id);
    if (!(id in graph.providers)) {
      issues.push(unknownName(at, `there is no provider "${id}"`, id, () => Object.keys(graph.providers)));
      return;
    }
    const contributions = requests?.get(id);
    if (!provider || !contributions || provider.config === undefined) return;
    const { plan } = provider.connector;
    if (!plan || !provider.capabilities.has('authorizer')) {
      issues.push({ path: at, message: `"${id}" cannot grant access: its provider type has no authorizer` });
      return;
    }
    const found: ErrorIssue[] = [];
    // The connector rejects a role without access, with its own message.
    const asked = contributions.length > 0 ? contributions : [nothingOf(name)];
    const planned = asked.flatMap((one) => planContribution(provider, plan, one, found));
    if (planned.length > 0) accesses.set(id, unite(planned));
    else if (found.length === 0) found.push({ path: at, message: `the role grants nothing at "${id}"` });
    for (const issue of found) {
      // The access of a parent is planned for each of its children, so its issues would be reported for each of them.
      if (!issues.some((one) => one.path === issue.path && one.message === issue.message)) issues.push(issue);
    }
  });
  return accesses;
}

/** Returns an issue for each provider whose shortest duration of access is longer than a duration of the role. */
function shorterThanMinimum(
  path: string,
  accesses: ReadonlyMap<string, readonly Access[]>,
  providers: ReadonlyMap<string, CompiledProvider>,
  { maxDuration, defaultDuration }: { maxDuration: number; defaultDuration: number },
): ErrorIssue[] {
  return [...accesses].flatMap(([id, granted]) => {
    const provider = providers.get(id);
    const minima = granted.flatMap((access) => provider?.connector.expiry?.(provider.config, access)?.minimum ?? []);
    const longest = Math.max(0, ...minima.map((minimum) => parseDuration(minimum)));
    const atMost = Math.min(maxDuration, provider?.maxDuration ?? Number.POSITIVE_INFINITY);
    const key = atMost < longest ? 'max_duration' : defaultDuration < longest ? 'default_duration' : undefined;
    if (key === undefined) return [];
    return [{ path: `${path}.${key}`, message: `must be at least ${formatDuration(longest)}, which "${id}" requires` }];
  });
}

function planContribution(
  { id, config }: CompiledProvider,
  plan: NonNullable<Connector['plan']>,
  { role, request, origins, resourcesOnly }: Contribution,
  issues: ErrorIssue[],
): readonly Access[] {
  const result = plan(config, request);
  if (result.ok) {
    if (resourcesOnly && result.accesses.length === 0) {
      issues.push({
        path: `roles.${role}.resources`,
        message: `must be used with a role or a permission (provider "${id}")`,
      });
    }
    return result.accesses;
  }
  for (const { path, message } of result.issues) {
    issues.push({ path: origins.get(path) ?? `roles.${role}.${path}`, message: `${message} (provider "${id}")` });
  }
  return [];
}

function nothingOf(role: string): Contribution {
  const request = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
  return { role, request, origins: new Map(), resourcesOnly: false };
}

/** Returns accesses in one order, without duplicates. */
export function unite(accesses: readonly Access[]): Access[] {
  const byText = new Map(accesses.map((access) => [canonicalJson(access), access]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, access]) => access);
}

function readPattern(pattern: string | undefined, path: string, issues: ErrorIssue[]): Pattern | undefined {
  if (pattern === undefined) return undefined;
  try {
    return compilePattern(pattern);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'is not a regular expression';
    issues.push({ path: `${path}.reason.pattern`, message });
    return undefined;
  }
}

/**
 * Returns when logins end regardless of their use, in milliseconds: the built-in limit, or the operator's if that is
 * shorter.
 */
function compileLoginEnd(
  given: CatalogDocument['server']['login'],
  issues: ErrorIssue[],
): { browser: number; device: number } {
  const read = (kind: 'browser' | 'device', longest: string) => {
    const path = `server.login.${kind}`;
    const asked = readDuration(given?.[kind], path, issues);
    if (asked === undefined) return timing.loginEnd[kind];
    if (asked < 60_000) issues.push({ path, message: 'must be at least one minute (PT1M)' });
    if (asked > timing.loginEnd[kind]) issues.push({ path, message: `must not be longer than ${longest}` });
    return asked;
  };
  return { browser: read('browser', 'PT12H'), device: read('device', 'P7D') };
}

/** The shortest is longer than the lease of a comparison. The longest keeps access that was left behind from lasting for weeks. */
const driftIntervals = { shortest: 10 * 60_000, longest: 7 * 24 * 60 * 60_000 };

function compileDriftInterval(given: string | undefined, issues: ErrorIssue[]): number | null {
  const path = 'server.drift_interval';
  const interval = readDuration(given, path, issues) ?? null;
  if (interval === null) return null;
  if (interval < driftIntervals.shortest) issues.push({ path, message: 'must be at least 10 minutes (PT10M)' });
  if (interval > driftIntervals.longest) issues.push({ path, message: 'must be at most 7 days (P7D)' });
  return interval;
}

/** With a shorter retention, pages and reports about a quarter would lack some of its requests. */
const shortestRetention = 90 * 24 * 60 * 60_000;

function compileRetention(given: CatalogDocument['server']['retention'], issues: ErrorIssue[]): Catalog['retention'] {
  const read = (kind: 'ledger' | 'requests') => {
    const path = `server.retention.${kind}`;
    const kept = readDuration(given?.[kind], path, issues) ?? null;
    if (kept !== null && kept < shortestRetention) issues.push({ path, message: 'must be at least 90 days (P90D)' });
    return kept;
  };
  return { ledger: read('ledger'), requests: read('requests') };
}
