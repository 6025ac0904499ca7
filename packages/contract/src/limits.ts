/**
 * The limits of a request: lengths in characters, lists in items. The schemas of this package, the verbs and the
 * OpenAPI document use these.
 */
export const limits = {
  /** A name, an identifier, a digest or an e-mail address. */
  name: 200,
  names: 100,
  /** Why a person requests access, and the description of a request in their own words. */
  reason: 4_000,
  /** A comment, a description, a message or words to search for. */
  remark: 2_000,
  /** Comments of one person on one request. */
  comments: 100,
  /** Comments of one person within a minute, on all requests. */
  commentsPerMinute: 10,
  /** Runs of one person that have not ended. */
  runs: 200,
  /** Approvals that one bulk decision names. */
  bulk: 100,
  /** Roles that one call requests. */
  roles: 20,
  /** People whom `approvers` names. */
  approvers: 50,
  /** The reason for an action of an administrator or operator, such as revoking access. */
  operatorReason: 500,
  /** A sealed token, an authorization code or an address. */
  opaque: 16_384,
  /** The `state` of a client, which is returned to it unchanged. */
  clientState: 2_000,
  duration: 64,
  idempotencyKey: 200,
  cursor: 200,
  /** Items of one page, of any list. */
  page: 500,
  /** Items of one page in a browser, unless its address says otherwise. */
  shown: 25,
  /** History entries of one page of an execution. */
  history: 1_000,
  /** A CloudEvent as it is sent. */
  event: 65_536,
  /** The data of an event or of a signal, as JSON. */
  eventData: 16_384,
  /** Log entries that an agent sends at once. */
  logEntries: 200,
  /** Checks in a report of an agent. */
  checks: 50,
  /** Scopes of a session with a provider. */
  scopes: 50,
  /** The code of a device login, however it was typed. */
  userCode: 40,
  samlResponse: 200_000,
  logoutToken: 20_000,
} as const;
