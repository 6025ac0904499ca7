import type { z } from 'zod';
import type { Access, Entitlement, GrantedEntitlement, ListedEntitlement, Named, Pin } from './entitlement.js';
import type { History } from './history.js';
import type { Budget } from './http/budget.js';
import type { Json, Notifications, Verdict } from './notifications.js';

export type { Access, Entitlement, GrantedEntitlement, ListedEntitlement, Named, Pin } from './entitlement.js';
export type { Json } from './notifications.js';

export const capabilities = ['authenticator', 'authorizer', 'identities', 'notifications'] as const;
/** What a provider can be used for (GET /providers). */
export type Capability = (typeof capabilities)[number];

/** What a role requests from one provider, after inheritance is resolved. */
export interface AccessRequest {
  /** The provider's own roles (`inherits: <provider>:<role>`). */
  roles: string[];
  /** The provider's own permission strings. */
  permissions: { allow: string[]; deny: string[] };
  resources: { allow: string[]; deny: string[] };
}

export interface PlanIssue {
  /** Where in the role the fault is, for example `permissions.allow[0]`. */
  path: string;
  message: string;
}

export type Plan = { ok: true; accesses: Access[] } | { ok: false; issues: PlanIssue[] };

/**
 * Whether a provider holds an entitlement. `changing`: an operation for this entitlement is in progress there, and either result is
 * possible. `unknown`: the provider cannot tell.
 */
export type Held = boolean | 'changing' | 'unknown';

/** Native expiry: the provider itself ends an access at the `until` of its grant. Durations are ISO 8601. */
export interface Expiry {
  native: true;
  /**
   * The shortest time that the provider accepts. A role whose maximum or default duration is shorter is rejected when
   * the catalog is applied.
   */
  minimum?: string;
  /** The provider's unit of time: the provider ends the access at most this much later than `until`. */
  step?: string;
}

/** Grants and revokes. Only `core/access` changes access with it (docs/architecture.md, sections 2 and 6). */
export interface Authorizer {
  /** Returns the target's fingerprint. Throws `Retryable` when the target cannot be reached. */
  target(signal: AbortSignal): Promise<string>;
  /**
   * Returns the part of a fingerprint that is equal for all targets at which the same access is held: for a database of PostgreSQL,
   * that of its server. Pure. Absent where the same access is held at targets with equal fingerprints only.
   */
  realm?(target: string): string;
  /**
   * Resolves names to identifiers that do not change, or returns null when a name does not exist. Two accesses that a person can have
   * at the same time have different pins; where a target has one slot for several of them, see `degreeOf`.
   */
  pin(named: Named, signal: AbortSignal): Promise<Pin | null>;
  /**
   * Returns the degree of an access whose pin is a slot: a place that holds one of several degrees at a time. Core commits no other
   * degree while one is held or owed (R8). Undefined for an access that is all that its pin can hold; absent where every access is.
   * Must not call the provider.
   */
  degreeOf?(access: Access): string | undefined;
  /** Whether `holds` can tell. If so, a result of `unknown` confirms neither a grant nor a revocation. */
  knows: boolean;
  /**
   * True where a call of `ensurePresent` that returned cannot take effect later, and `holds` sees everything that it did. Then a
   * revocation needs no second one after the quarantine, unless a grant call was lost (docs/architecture.md, section 6, R5).
   */
  neverLate?: boolean;
  /**
   * Returns every name by which `inherits` can name what an access gives, where there are several (a display name and an identifier),
   * so that a rule that denies one of them also counts for the others. Absent where each thing has one name.
   */
  aliases?(pin: Pin, signal: AbortSignal): Promise<string[]>;
  /**
   * Keeps a connection to the target open while access is held there, so that a holder who uses up the target's connections cannot
   * prevent a revocation. Called repeatedly while it is needed; throws as the other calls do. Absent where none can be kept open.
   */
  standBy?(signal: AbortSignal): Promise<void>;
  /** Closes what `standBy` keeps open, when no access is held there any more. */
  standDown?(): Promise<void>;
  /** What can be told of the history of the target, so that a copy or an earlier state of it settles nothing. Absent where nothing can. */
  history?: History<Authorizer>;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; shown beside `residual`. */
  leavesBehind?: string;
  /**
   * Returns whether the access is held now, a slot in whatever degree: read before the first mutation (R2) and after each (R6).
   * `changing` confirms nothing.
   */
  holds(entitlement: Entitlement, signal: AbortSignal): Promise<Held>;
  /**
   * Makes the access present, a slot in the degree of `name`; core may repeat the call. A slot that others have changed meanwhile may
   * be left in a higher degree, or rejected (`Terminal`): the revocation empties it in any. `until` is passed on where the provider has native expiry: a later one
   * extends the access, an earlier one changes nothing. Throws `Pending` while the provider is working on the grant, and `Renamed` instead of
   * writing a name of the identity that is not among `names`.
   */
  ensurePresent(entitlement: GrantedEntitlement, until: Date, signal: AbortSignal): Promise<void>;
  /**
   * Makes the access absent, under all its names and in whatever degree the holder has it by now, and ends live sessions where the provider can. "No such user, role or resource" is success. Throws
   * `Pending` while the provider is working on the revocation, or on a grant that cannot be cancelled. Where marks or grantors tell
   * what Belay granted, it removes only that, and throws `LeftToOthers` when something else gives the same access.
   */
  ensureAbsent(entitlement: Entitlement, signal: AbortSignal): Promise<void>;
  /**
   * Yields, for the drift audit, all access at the provider that only Belay may have granted: access with Belay's mark, and every
   * holder of what the configuration lists in `exclusive`.
   */
  list?(signal: AbortSignal): AsyncIterable<ListedEntitlement>;
  /** The provider's own roles and permissions, for the lists of the interface. */
  roles(signal: AbortSignal): Promise<ProviderRole[]>;
  permissions(signal: AbortSignal): Promise<ProviderPermission[]>;
  /** How long access can outlive `ensureAbsent` at worst (issued tokens, caches): an ISO 8601 duration, shown with every grant. */
  residual: string;
  /** The same for one access, never longer than `residual`. Must not call the provider. */
  residualOf?(access: Access): string;
}

export interface ProviderRole {
  name: string;
  arn: string;
  description: string;
}

export interface ProviderPermission {
  name: string;
  description: string;
}

export interface ProviderIdentity {
  id: string;
  name: string;
  email: string;
  /**
   * Every other e-mail address of the account: those at the provider, and those that the `identity` setting maps to it. The account
   * may belong to several people. Its access is found by each address.
   */
  addresses?: readonly string[];
  /** The sign-ins that the `identity` setting maps to this account. */
  logins?: readonly Login[];
}

/** The most identities that `list` returns: `search` finds the others. */
export const mostListed = 1_000;

export interface Identities {
  /** Returns the provider's identities, `mostListed` at most. */
  list(signal: AbortSignal): Promise<ProviderIdentity[]>;
  /** Whether `find` uses `Person.logins`, which core reads only then. */
  byLogin?: boolean;
  /** Returns the identity with this `id`, or null. */
  get(id: string, signal: AbortSignal): Promise<ProviderIdentity | null>;
  /**
   * Returns up to `limit` identities whose id, name or e-mail begins with `text` or contains it, without regard to case. Identities
   * with a field equal to `text` come first, because core finds the person that a request names by exact e-mail.
   */
  search(text: string, limit: number, signal: AbortSignal): Promise<ProviderIdentity[]>;
  /**
   * Returns the provider's identity for a person, by the provider's `identity` setting (docs/interface.md, section 16, rule 14).
   * Returns null when there is no identity, or more than one.
   */
  find(person: Person, signal: AbortSignal): Promise<ProviderIdentity | null>;
}

/** A person, as proved by a sign-in. */
export interface Person {
  email: string;
  name: string;
  subject: string;
  /**
   * The sign-ins that are linked to the person and may be used now: with `identity: login`, a connector finds the account by them.
   * Only given to `find` where `byLogin` is set.
   */
  logins?: readonly Login[];
}

/** A sign-in: the provider, by its name in the configuration, and the person's identifier there, which does not change. */
export interface Login {
  provider: string;
  subject: string;
}

export interface AuthorizationRequest {
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
  scopes?: string[];
}

/** What a provider states about a person who has signed in, at the sign-in or later. */
export type ToldPerson = Omit<Authenticated, 'tokens' | 'endsAt'>;

export interface Refreshed {
  tokens: ProviderTokens;
  /** What the provider states about the person now; absent where it returns only tokens. */
  person?: ToldPerson;
}

/** A logout that a provider reported (OpenID Connect Back-Channel Logout 1.0): of one sign-in, or of all sign-ins of a person. */
export interface ToldLogout {
  /** The identifier of the logout token, which may be used once. */
  id: string;
  subject?: string;
  sid?: string;
  /** From this time on, the token is too old to be accepted again. */
  until: Date;
}

export interface Authenticated {
  subject: string;
  email: string;
  emailVerified: boolean;
  name: string;
  groups: string[];
  /** True when the provider states that it left out groups or organizations: then its lists are not used. */
  groupsLeftOut?: boolean;
  /** The organizations that the person belongs to; absent where the provider has only groups, which are then used instead. */
  organizations?: string[];
  tokens: ProviderTokens;
  /** The latest end of the session with the provider, where it is stated apart from the tokens (SAML, SessionNotOnOrAfter). */
  endsAt?: Date;
}

/** The provider's own tokens; empty where it issues no tokens (SAML). They are sealed before they are stored, and never logged. */
export interface ProviderTokens {
  accessToken?: string;
  refreshToken?: string;
  idToken?: string;
  /** The provider's identifier of the sign-in that the tokens belong to (OpenID Connect, `sid`). */
  sid?: string;
  expiresInMilliseconds?: number;
}

export interface RefreshRequest {
  refreshToken: string;
  subject: string;
  /** The ID token of the sign-in, where there was one: it shows which claims the provider puts only into ID tokens. */
  idToken?: string | undefined;
}

export interface Authenticator {
  /** The issuer of subjects, where two providers can have the same issuer: one subject of one issuer is one person. */
  issuer?: string;
  /**
   * How the provider returns its response: in the query of the callback (the default), or in a form that the browser posts there.
   * A post from another site comes without the browser's cookies, so core binds it to the browser afterwards.
   */
  answersBy?: 'query' | 'form';
  /** Returns the provider's authorization URL with PKCE (S256), state and nonce (RFC 7636, OpenID Connect Core 3.1.2.1). */
  authorizationUrl(request: AuthorizationRequest, signal: AbortSignal): Promise<URL>;
  /**
   * Verifies the provider's response, which is in the query of `currentUrl` (the fields of a form as well): state, nonce and PKCE,
   * or what its protocol has in their place. Throws `Terminal` when one of them is not valid.
   */
  exchange(
    currentUrl: URL,
    expected: Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'nonce' | 'codeVerifier'>,
    signal: AbortSignal,
  ): Promise<Authenticated>;
  /**
   * Returns new tokens for the same person (RFC 6749, 6), and what the provider states about the person now. Absent where the
   * provider cannot refresh. Throws `Terminal` when the provider no longer honours the sign-in, or returns a person other than
   * `subject`; `Retryable` for every error that is not about the person, including an error of Belay's own credentials.
   */
  refresh?(request: RefreshRequest, signal: AbortSignal): Promise<Refreshed>;
  /**
   * Returns what the provider states about a person now, read with the access token of their sign-in. Null when it does not state
   * all that it stated at the sign-in. Throws as `refresh` does.
   */
  reread?(request: { tokens: ProviderTokens; subject: string }, signal: AbortSignal): Promise<ToldPerson | null>;
  /**
   * Verifies a logout token; core ensures that it is used only once. Absent where the provider sends no logout tokens. Throws
   * `Terminal` when the token is not valid.
   */
  readLogout?(token: string, now: Date, signal: AbortSignal): Promise<ToldLogout>;
  /** Returns a description of this service for the provider, as an XML document (SAML metadata). Absent for other protocols. */
  metadata?(redirectUri: string): Promise<string>;
}

/** A weakness of a provider's setup, for its operator. */
export interface Weakness {
  message: string;
  /** What to do about it. */
  cure: string;
}

/** Why the connection cannot grant an access that the configuration offers, for its operator. */
export interface Obstacle extends Weakness {
  /** The access that cannot be granted. */
  access: Access;
}

/** A provider whose client is ready. */
export interface ProviderClient {
  authenticator?: Authenticator;
  authorizer?: Authorizer;
  identities?: Identities;
  notifications?: Notifications;
  /** Checks that the provider responds. Throws `Retryable` or `Terminal` with a message for an operator. */
  check(signal: AbortSignal): Promise<void>;
  /** Returns what in the provider's setup weakens the guarantees of Belay; absent where nothing is checked. Throws as `check` does. */
  weaknesses?(signal: AbortSignal): Promise<Weakness[]>;
  /**
   * Returns which of the accesses the connection cannot grant now, as far as this can be read without a change; absent where only a
   * grant would show it. Throws as `check` does.
   */
  obstacles?(accesses: readonly Access[], signal: AbortSignal): Promise<Obstacle[]>;
  close(): Promise<void>;
}

/** What every connector may use; tests replace it. */
export interface ConnectorTools {
  /** Returns the time in milliseconds since 1970: for the end of tokens and of pauses. */
  now(): number;
  log(line: string, detail?: Record<string, Json>): void;
  /** What the provider still accepts, for all processes together; without it, a client knows only what it was told itself. */
  budget?: Budget;
}

/** What the holder of access needs to connect. */
export interface SharedConnection {
  /** Environment variables of the system's own tools. */
  variables: Record<string, string>;
  /** A cluster of Kubernetes, whose tools read a file in place of variables. */
  cluster?: {
    server: string;
    /** The authority of the server's certificate, in PEM form; absent for a public authority. */
    certificate_authority?: string;
    /** Absent for access to the whole cluster. */
    namespace?: string;
  };
}

/** A type of provider: its configuration, what it can do, and how to make a client. */
export interface Connector<Config = unknown> {
  type: string;
  description: string;
  capabilities: readonly Capability[];
  config: z.ZodType<Config>;
  /**
   * Turns the content of a role into accesses, without a call to the provider, so that a role that cannot be granted is rejected
   * when the catalog is applied (docs/architecture.md, section 11). Absent for connectors without an authorizer.
   */
  plan?(config: Config, request: AccessRequest): Plan;
  /**
   * Returns the resources that contain a resource, by its name alone, so that a rule that denies one also counts for what lies within
   * it, and for what it lies in. `*` stands for any characters, also in the resource. Absent where no resource contains another.
   */
  containers?(resource: string): string[];
  /**
   * Returns the part of the configuration that locates the target, without secrets: two configurations with equal addresses lead to
   * the same target. Pure. Where it is absent, core reads an authorizer's target at each change of the configuration while access
   * is held there.
   */
  address?(config: Config): Json;
  /**
   * Returns the public facts with which the holder of this access connects; never a secret. Pure. Shown to the holder alone, and
   * only where the configuration says `share_connection`.
   */
  connection?(config: Config, held: Named): SharedConnection;
  /** Returns how the provider ends this access by itself, or undefined when it does not. Pure. */
  expiry?(config: Config, access: Access): Expiry | undefined;
  /** Returns the decisions that buttons in messages of this provider may make; none when absent. Pure. */
  verdicts?(config: Config): readonly Verdict[];
  /**
   * Creates the client. The vendor's libraries are imported here and not earlier, so that only configured providers load them. Must
   * not wait for the network: `check` finds a provider that is down.
   */
  create(config: Config, tools: ConnectorTools): ProviderClient | Promise<ProviderClient>;
}

/** A connector whose libraries are loaded with it. */
export interface ReadyConnector<Config = unknown> extends Connector<Config> {
  create(config: Config, tools: ConnectorTools): ProviderClient;
}
