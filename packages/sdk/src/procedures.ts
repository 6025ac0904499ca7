import type * as t from './types.js';

interface Procedure<Kind extends 'query' | 'mutation' | 'subscription', Input, Output> {
  kind: Kind;
  input: Input;
  output: Output;
}
type Query<Input, Output> = Procedure<'query', Input, Output>;
type Mutation<Input, Output> = Procedure<'mutation', Input, Output>;
type Subscription<Input, Output> = Procedure<'subscription', Input, Output>;

type Paged = { limit?: number; cursor?: string };
type Searched = { provider: string; q?: string } & Paged;

/** What only an agent or a client of this machine has; a server answers these with `not_found`. */
export interface LocalProcedures {
  'sessions.begin': Mutation<{ provider?: string }, t.LocalLogin>;
  'sessions.get': Query<{ provider: string }, t.IssuedSession>;
  'sessions.keep': Mutation<t.SessionToKeep, { message: string; expiry: string }>;
  'sessions.remove': Mutation<{ provider: string }, { message: string }>;
}

/** Every procedure the SDK calls, as the server's router defines it; test/types.test.ts holds the two equal. */
export interface Procedures extends LocalProcedures {
  'providers.list': Query<{ capability?: t.Capability[] }, t.ProviderList>;
  'providers.get': Query<{ provider: string }, t.Provider>;
  'providers.roles': Query<Searched, t.ProviderRoles>;
  'providers.permissions': Query<Searched, t.ProviderPermissions>;
  'providers.identities': Query<Searched, t.ProviderIdentities>;
  'providers.authorizeSession': Mutation<{ provider: string } & t.SessionAuthorization, t.AuthorizationStart>;
  'roles.list': Query<{ provider?: string[] } & Paged, t.RoleList>;
  'roles.get': Query<{ role: string }, t.Role>;
  'workflows.list': Query<undefined, t.WorkflowList>;
  'workflows.get': Query<{ name: string }, t.Workflow>;
  'elevation.request': Mutation<t.ElevationRequest | t.DynamicElevationRequest, t.Elevation>;
  'elevation.dynamic': Query<undefined, { bounds: t.DynamicBounds[] }>;
  'elevation.suggest': Mutation<{ reason: string }, t.Suggestion>;
  'elevation.prepareResume': Mutation<t.ResumeRequest, { state: string }>;
  'elevation.resume': Mutation<{ state: string }, t.Resumption>;
  'executions.list': Query<Paged, t.ExecutionList>;
  'executions.get': Query<{ id: string; until?: t.WaitTarget; wait?: string } & Paged, t.ExecutionDetails>;
  'executions.start': Mutation<t.ExecutionStart, t.StartedExecution>;
  'executions.cancel': Mutation<{ id: string }, t.Done>;
  'executions.terminate': Mutation<{ id: string }, t.Done>;
  'executions.signal': Mutation<{ id: string; input: string }, t.Signalled>;
  'executions.prepareSignal': Mutation<{ id: string; type: string; data?: unknown }, t.SealedSignal>;
  'executions.watch': Subscription<{ id: string; lastEventId?: string }, t.ExecutionEvent>;
  'approvals.inbox': Query<t.InboxFilter & Paged, t.Inbox>;
  'approvals.decide': Mutation<t.Decision, t.Decided>;
  'access.list': Query<undefined, t.AccessList>;
  'access.return': Mutation<{ execution_id: string }, t.Done>;
  'device.start': Mutation<{ label?: string | undefined }, t.StartedDeviceLogin>;
  'device.token': Mutation<{ device_code: string }, t.PolledDeviceLogin>;
  'auth.whoami': Query<undefined, t.Whoami>;
  'auth.token': Mutation<t.CodeExchange, t.ExchangedToken>;
  'auth.session': Mutation<{ provider: string }, t.IssuedSession>;
  'auth.logout': Mutation<undefined, t.LoggedOut>;
  'auth.logoutProvider': Mutation<{ provider: string }, t.LoggedOut>;
  'auth.page': Query<
    { callback?: string; provider?: string; label?: string; code_challenge?: string; code_challenge_method?: 'S256' },
    t.SignInProviders
  >;
  'sessions.list': Query<undefined, t.SessionList>;
  'sessions.verify': Mutation<{ session: string }, t.VerifiedSession>;
  'system.health': Query<undefined, t.Health>;
  'system.ready': Query<undefined, t.Readiness>;
  'system.metrics': Query<undefined, t.Metrics>;
  'logs.list': Query<t.LogFilter, t.LogList>;
  'logs.export': Query<t.LogFilter & { cursor?: string }, t.LogPage>;
  'logs.record': Mutation<{ entries: t.AgentLogEntry[] }, { accepted: number }>;
  'configuration.preflight': Mutation<t.AgentReport, t.AgentReported>;
  'configuration.register': Mutation<{ environment: t.AgentEnvironment }, t.Registration>;
  'configuration.postflight': Mutation<t.AgentReport, t.AgentReported>;
  'configuration.adopt': Mutation<{ credential: string }, { success: boolean; expires_at: string }>;
  'configuration.describe': Query<undefined, t.ApiConfiguration>;
  'configuration.sync': Query<undefined, t.Sync>;
}

type PathOf<Kind> = {
  [Path in keyof Procedures]: Procedures[Path]['kind'] extends Kind ? Path : never;
}[keyof Procedures];

export type QueryPath = PathOf<'query'>;
export type MutationPath = PathOf<'mutation'>;
export type WatchPath = PathOf<'subscription'>;
export type InputOf<Path extends keyof Procedures> = Procedures[Path]['input'];
export type OutputOf<Path extends keyof Procedures> = Procedures[Path]['output'];
