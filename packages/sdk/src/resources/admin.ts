import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  AccessFilter,
  AgentList,
  AuditEntry,
  AuditFilter,
  AuditPage,
  CallOptions,
  ConfigurationDiff,
  ConfigurationVersions,
  Done,
  HeldAccessList,
  OverdueList,
  PageOptions,
  PeopleList,
  PersonDetails,
  RestoreStatus,
  Revoked,
  RevokeRequest,
  SameTarget,
  StoppedPerson,
} from '../types.js';

interface Act {
  id: string;
  /** Written to the audit log. */
  reason: string;
}

/** The methods for administrators and auditors; only administrators can change something (`access` of the configuration). */
export interface AdminResource {
  /** Returns the access that people hold now, ordered by its end. */
  listAccess(filter?: AccessFilter, options?: PageOptions): Promise<HeldAccessList>;
  /** Ends matching access now. Safe to repeat; repeat it while `more` is true. */
  revokeAccess(request: RevokeRequest, options?: CallOptions): Promise<Revoked>;
  listOverdue(options?: PageOptions): Promise<OverdueList>;
  /** Makes an overdue revocation due now. */
  retryRevocation(act: Act, options?: CallOptions): Promise<Done>;
  /** Accepts what a revocation left at its provider; `left` is `left_to_others` as it was read. */
  acceptLeft(act: Act & { left: string }, options?: CallOptions): Promise<Done>;
  /** Returns one page of the whole audit log, newest first. A page can be empty although there is a next one. */
  listLogs(filter?: AuditFilter, options?: PageOptions): Promise<AuditPage>;
  /** Yields every matching entry, newest first, page by page. The audit log records the export. */
  exportLogs(filter?: AuditFilter, options?: CallOptions): AsyncGenerator<AuditEntry, void, undefined>;
  listConfigurations(options?: PageOptions): Promise<ConfigurationVersions>;
  /** Returns the differences between a version of the configuration and another one, or the previous one. */
  compareConfigurations(
    versions: { version: string; from?: string },
    options?: CallOptions,
  ): Promise<ConfigurationDiff>;
  /** Returns the people who have signed in; `q` is a part of a name or address. */
  listPeople(filter?: { q?: string }, options?: PageOptions): Promise<PeopleList>;
  getPerson(user: string, options?: CallOptions): Promise<PersonDetails>;
  /** Ends all logins, tokens, open requests and access of a person. */
  stopPerson(act: { user: string; reason: string }, options?: CallOptions): Promise<StoppedPerson>;
  /** Records that two accounts that share an address belong to two people. `other` is an address, or the id of an account. */
  separatePeople(act: { user: string; other: string; reason: string }, options?: CallOptions): Promise<Done>;
  /** Ends one login or token. */
  endLogin(act: Act, options?: CallOptions): Promise<Done>;
  listAgents(options?: PageOptions): Promise<AgentList>;
  removeAgent(act: Act, options?: CallOptions): Promise<Done>;
  /** Returns whether grants wait after a restore of the database, and for what. */
  getRestore(options?: CallOptions): Promise<RestoreStatus>;
  /** Stops all grants until every provider was compared with the restored database, and `openRestore` was called. */
  beginRestore(act: { reason: string }, options?: CallOptions): Promise<Done>;
  /** Decides about access that was found after a restore. */
  answerLeftover(act: Act & { answer: 'keep' | 'revoke' }, options?: CallOptions): Promise<Done>;
  /** Continues without the comparison of a provider that does not respond. */
  skipProvider(act: { provider: string; reason: string }, options?: CallOptions): Promise<Done>;
  /** Permits grants again. Throws `conflict` while something has to be compared or decided. */
  openRestore(options?: CallOptions): Promise<Done>;
  /** Returns what is held at a provider, beside what the server says that responds now. */
  getTarget(provider: string, options?: CallOptions): Promise<SameTarget>;
  /** Confirms that a provider leads to the target where its access is held, as `getTarget` has shown it. */
  confirmTarget(
    act: { provider: string; digest: string; by_name?: boolean; reason: string },
    options?: CallOptions,
  ): Promise<Done>;
}

export function createAdmin(transport: Transport): AdminResource {
  return {
    listAccess: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('admin.access', { ...filter, ...pageOf({ limit, cursor }) }, options),
    revokeAccess: (request, options) => transport.mutate('admin.revoke', request, options),
    listOverdue: ({ limit, cursor, ...options } = {}) =>
      transport.query('admin.overdue', pageOf({ limit, cursor }), options),
    retryRevocation: (act, options) => transport.mutate('admin.retry', act, options),
    acceptLeft: (act, options) => transport.mutate('admin.accept', act, options),
    listLogs: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('admin.logs', { ...filter, ...pageOf({ limit, cursor }) }, options),
    async *exportLogs(filter = {}, options) {
      let page = await transport.query('admin.exportLogs', filter, options);
      for (;;) {
        yield* page.logs;
        if (page.next === null) return;
        page = await transport.query('admin.exportLogs', { ...filter, cursor: page.next }, options);
      }
    },
    listConfigurations: ({ limit, cursor, ...options } = {}) =>
      transport.query('admin.configurations', pageOf({ limit, cursor }), options),
    compareConfigurations: (versions, options) => transport.query('admin.configuration', versions, options),
    listPeople: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('admin.people', { ...filter, ...pageOf({ limit, cursor }) }, options),
    getPerson: (user, options) => transport.query('admin.person', { user }, options),
    stopPerson: (act, options) => transport.mutate('admin.stop', act, options),
    separatePeople: (act, options) => transport.mutate('admin.separate', act, options),
    endLogin: (act, options) => transport.mutate('admin.endLogin', act, options),
    listAgents: ({ limit, cursor, ...options } = {}) =>
      transport.query('admin.agents', pageOf({ limit, cursor }), options),
    removeAgent: (act, options) => transport.mutate('admin.removeAgent', act, options),
    getRestore: (options) => transport.query('admin.restore', undefined, options),
    beginRestore: (act, options) => transport.mutate('admin.beginRestore', act, options),
    answerLeftover: (act, options) => transport.mutate('admin.answerLeftover', act, options),
    skipProvider: (act, options) => transport.mutate('admin.skipProvider', act, options),
    openRestore: (options) => transport.mutate('admin.openRestore', undefined, options),
    getTarget: (provider, options) => transport.query('admin.target', { provider }, options),
    confirmTarget: (act, options) => transport.mutate('admin.confirmTarget', act, options),
  };
}
