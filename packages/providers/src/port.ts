import type { z } from 'zod';
import type { Json, Notifications, Verdict } from './notifications.js';

export type { Json } from './notifications.js';

export const capabilities = ['authenticator', 'authorizer', 'identities', 'notifications'] as const;
/** What a provider can do for us (GET /providers). */
export type Capability = (typeof capabilities)[number];

/** What an identity may hold at a provider; plain JSON, compared by its canonical form. */
export type Access = { [key: string]: Json };

/** What an entitlement is at its target, in identifiers that do not change there. Names are labels. */
export interface Pin {
  /** The target's fingerprint: two addresses are the same target exactly when their fingerprints are equal. */
  target: string;
  /** The identifiers of the identity and of the access, in the connector's own shape; compared by its canonical form. */
  subject: Json;
}

/** One entitlement as a connector sees it: this identity, this access, there (docs/architecture.md, section 1). */
export interface EntitlementRef {
  /** Our identifier of the entitlement; a connector marks what it creates with it where the provider allows. */
  id: string;
  identity: string;
  access: Access;
  /** Stored with the intent. With it a connector goes by the pin alone, and throws `OtherTarget` at any other target. */
  pin?: Pin;
  /** Changes with each grant call that is begun for this entitlement, by any process. */
  generation?: string;
}

/** What a role asks of one provider, after inheritance is resolved. */
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
 * What a provider holds. `changing`: an operation for this entitlement is in progress there, and either end is possible.
 * `unknown`: the provider cannot say.
 */
export type Held = boolean | 'changing' | 'unknown';

/** That the provider itself ends an access at the time it was told; durations are ISO 8601. */
export interface Expiry {
  native: true;
  /** The shortest time that the provider accepts. A role that can only be held for less is rejected when the catalog is applied. */
  minimum?: string;
  /** The provider's unit of time: it ends the access at most this much later than it was told. */
  step?: string;
}

/** Grants and revokes. Only `core/access` calls it (docs/architecture.md, sections 2 and 6). */
export interface Authorizer {
  /** Returns the target's fingerprint. Throws `Retryable` when the target cannot be reached. */
  target(signal: AbortSignal): Promise<string>;
  /** Resolves the names of an entitlement to what does not change, or returns null when one of them does not exist. */
  pin(entitlement: EntitlementRef, signal: AbortSignal): Promise<Pin | null>;
  /** Whether `holds` can know. Where it can, `unknown` settles neither a grant nor a revocation. */
  knows: boolean;
  /**
   * Keeps a way to the target open while something is held there, so that a revocation needs nothing that the holder can
   * use up. Called again and again while it is needed; throws as the other calls do. Absent where there is no such thing.
   */
  standBy?(signal: AbortSignal): Promise<void>;
  /** Nothing is held there any more: closes what `standBy` keeps open. */
  standDown?(): Promise<void>;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; shown beside `residual`. */
  leavesBehind?: string;
  /** Returns what the provider holds now: read before the first mutation (R2) and after each (R6). `changing` settles nothing. */
  holds(entitlement: EntitlementRef, signal: AbortSignal): Promise<Held>;
  /**
   * Converges on present. Repeats are normal. `until` is passed on where the provider has native expiry: a later one extends
   * what is there, an earlier one changes nothing. Throws `Pending` while the provider works on it.
   */
  ensurePresent(entitlement: EntitlementRef, until: Date, signal: AbortSignal): Promise<void>;
  /**
   * Converges on absent, live sessions included where the provider can end them. "No such user, role or resource" is success.
   * Throws `Pending` while the provider works on it, or on a grant that cannot be cancelled.
   */
  ensureAbsent(entitlement: EntitlementRef, signal: AbortSignal): Promise<void>;
  /**
   * For the drift audit, everything at the provider that must be ours: what has our mark, and every member of what the
   * configuration calls `exclusive`. Each has its `pin`; `id` is the mark, or empty where there is none.
   */
  list?(signal: AbortSignal): AsyncIterable<EntitlementRef>;
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
   * Every other address whose account this is: those that the provider has for it, and those that the `identity`
   * setting gives it. The account may belong to several people. Access for it is found by each address.
   */
  addresses?: readonly string[];
  /** The sign-ins whose account this is by the `identity` setting. */
  logins?: readonly Login[];
}

/** The most identities that `list` returns: `search` finds the others. */
export const mostListed = 1_000;

export interface Identities {
  /** Returns the provider's identities, `mostListed` at most. */
  list(signal: AbortSignal): Promise<ProviderIdentity[]>;
  /** Whether `find` goes by `Person.logins`, which core reads only then. */
  byLogin?: boolean;
  /** Returns the identity with this `id`, or null. */
  get(id: string, signal: AbortSignal): Promise<ProviderIdentity | null>;
  /**
   * Returns up to `limit` identities whose id, name or e-mail begins with `text` or contains it, without regard to case. Those
   * where one of them is equal to it come first: core looks up by exact e-mail whom a request names.
   */
  search(text: string, limit: number, signal: AbortSignal): Promise<ProviderIdentity[]>;
  /**
   * The provider's identity for a person, by the provider's `identity` setting (docs/interface.md, section 16, rule 14).
   * Answers null when there is none or more than one: no guess.
   */
  find(person: Person, signal: AbortSignal): Promise<ProviderIdentity | null>;
}

/** A person as a login proved them. */
export interface Person {
  email: string;
  name: string;
  subject: string;
  /**
   * The sign-ins that are linked to the person and may be used now: with `identity: login` a connector takes the account from
   * here. Only given to `find` where `byLogin` is set.
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

/** What a provider says of a person who has signed in, at the sign-in or later. */
export type ToldPerson = Omit<Authenticated, 'tokens' | 'endsAt'>;

export interface Refreshed {
  tokens: ProviderTokens;
  /** What the provider says of the person now; absent where it says nothing beside the tokens. */
  person?: ToldPerson;
}

/** A logout that a provider told of (OpenID Connect Back-Channel Logout 1.0): of one sign-in, or of all of a person's. */
export interface ToldLogout {
  /** Of the token, which is good once. */
  id: string;
  subject?: string;
  sid?: string;
  /** From then on the token is too old to be sent again. */
  until: Date;
}

export interface Authenticated {
  subject: string;
  email: string;
  emailVerified: boolean;
  name: string;
  groups: string[];
  /** True where the provider says that there are groups or organizations which it left out: then the lists count for nothing. */
  groupsLeftOut?: boolean;
  /** The organizations that the person belongs to, where the provider has them apart from groups; else its groups are meant. */
  organizations?: string[];
  tokens: ProviderTokens;
  /** When the session with the provider ends at the latest, where it says so apart from its tokens (SAML, SessionNotOnOrAfter). */
  endsAt?: Date;
}

/** The provider's own tokens, none where it gives none (SAML); sealed before they are stored, never logged. */
export interface ProviderTokens {
  accessToken?: string;
  refreshToken?: string;
  idToken?: string;
  /** What the provider calls the sign-in that they belong to (OpenID Connect, `sid`). */
  sid?: string;
  expiresInMilliseconds?: number;
}

export interface RefreshRequest {
  refreshToken: string;
  subject: string;
  /** The ID token of the sign-in, where there was one: it shows what the provider says there and nowhere else. */
  idToken?: string | undefined;
}

export interface Authenticator {
  /** Whom subjects belong to, where two providers can be at the same: the same subject of one issuer is one person. */
  issuer?: string;
  /**
   * How the provider answers: in the query of the callback (the default), or with a form that it has the browser post
   * there. A post from another site comes without the browser's cookies, so core binds it to the browser afterwards.
   */
  answersBy?: 'query' | 'form';
  /** The provider's authorization URL, PKCE (S256), state and nonce included (RFC 7636, OpenID Connect Core 3.1.2.1). */
  authorizationUrl(request: AuthorizationRequest, signal: AbortSignal): Promise<URL>;
  /**
   * Verifies the provider's answer, which is in the query of `currentUrl` (the fields of a form as well): state, nonce
   * and PKCE, or what its protocol has in their place. Throws `Terminal` when any does not hold.
   */
  exchange(
    currentUrl: URL,
    expected: Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'nonce' | 'codeVerifier'>,
    signal: AbortSignal,
  ): Promise<Authenticated>;
  /**
   * New tokens for the same person (RFC 6749, 6), and what the provider says of them now. Absent where the provider has no
   * such thing. Throws `Terminal` when the provider no longer honours the sign-in, or returns a person other than
   * `subject`; `Retryable` for everything that is not about the person, a fault of our own credentials included.
   */
  refresh?(request: RefreshRequest, signal: AbortSignal): Promise<Refreshed>;
  /**
   * What the provider says of a person now, read with the access token of their sign-in. Null when it does not say all
   * that it said at the sign-in. Throws as `refresh` does.
   */
  reread?(request: { tokens: ProviderTokens; subject: string }, signal: AbortSignal): Promise<ToldPerson | null>;
  /**
   * Verifies a logout token by itself; that it is used once is core's part. Absent where the provider sends none. Throws
   * `Terminal` when it does not hold.
   */
  readLogout?(token: string, now: Date, signal: AbortSignal): Promise<ToldLogout>;
  /** What the provider has to be told about this service, as an XML document (SAML metadata). Absent where there is no such thing. */
  metadata?(redirectUri: string): Promise<string>;
}

/** A weakness of a provider's setup, for its operator. */
export interface Weakness {
  message: string;
  /** What to do about it. */
  cure: string;
}

/** What keeps the connection from granting an access that the configuration offers, for its operator. */
export interface Obstacle extends Weakness {
  /** The one that was asked about. */
  access: Access;
}

/** A provider whose client is ready. */
export interface ProviderClient {
  authenticator?: Authenticator;
  authorizer?: Authorizer;
  identities?: Identities;
  notifications?: Notifications;
  /** Asks the provider whether it answers; throws `Retryable` or `Terminal` with a message fit for an operator. */
  check(signal: AbortSignal): Promise<void>;
  /** What about the provider's setup weakens what Belay promises; absent where nothing is looked at. Throws as `check` does. */
  weaknesses?(signal: AbortSignal): Promise<Weakness[]>;
  /**
   * Which of the accesses the connection could not grant now, as far as the provider tells without a change; absent where
   * only a grant would tell. Throws as `check` does.
   */
  obstacles?(accesses: readonly Access[], signal: AbortSignal): Promise<Obstacle[]>;
  close(): Promise<void>;
}

/** What every connector may use; I/O that tests replace comes in here. */
export interface ConnectorTools {
  /** The time in milliseconds since 1970: for the end of tokens, and for demands to wait. */
  now(): number;
  log(line: string, detail?: Record<string, Json>): void;
}

/** With what the holder of access connects. */
export interface SharedConnection {
  /** Environment variables of the system's own tools. */
  variables: Record<string, string>;
  /** A cluster of Kubernetes, whose tools read a file in place of variables. */
  cluster?: {
    server: string;
    /** PEM; absent where a public authority signs. */
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
   * Turns what a role contains into accesses, without asking the provider, so that a role that cannot be granted is
   * rejected when the catalog is applied (docs/architecture.md, section 11). Absent for connectors without an authorizer.
   */
  plan?(config: Config, request: AccessRequest): Plan;
  /**
   * Returns the part of the configuration that says where the target is, without secrets: two configurations with equal
   * addresses lead to the same place. Pure. A connector with an authorizer that has none is asked where it leads at
   * each change of the configuration while something is held there.
   */
  address?(config: Config): Json;
  /**
   * Returns the public facts with which the holder of this access connects; never a secret. Pure. Shown to the holder alone, and
   * only where the configuration says `share_connection`.
   */
  connection?(config: Config, held: { identity: string; access: Access }): SharedConnection;
  /** Returns how the provider ends this access by itself, or undefined when it does not. Pure. */
  expiry?(config: Config, access: Access): Expiry | undefined;
  /** Returns what may be decided by a button in a message of this provider; nothing where it is absent. Pure. */
  verdicts?(config: Config): readonly Verdict[];
  /**
   * Makes the client. Imports the vendor's libraries here and nowhere earlier, so that only providers that are configured
   * load them. Must not wait on the network: a provider that is down is found by `check`.
   */
  create(config: Config, tools: ConnectorTools): ProviderClient | Promise<ProviderClient>;
}

/** A connector whose libraries are loaded with it. */
export interface ReadyConnector<Config = unknown> extends Connector<Config> {
  create(config: Config, tools: ConnectorTools): ProviderClient;
}
