export {
  type ConnectionInspection,
  type Database,
  type DatabaseClient,
  inspectConnection,
  openDatabase,
  type Transaction,
} from './client.js';
export { isClosed } from './close-database.js';
export { commitWith } from './commit-with.js';
export { createClient } from './connect.js';
export { executeBeside, executeFor } from './execute-beside.js';
export { inGroups } from './in-groups.js';
export { inOrder, type Statement } from './in-order.js';
export { listenTo } from './listen.js';
export { migrateDatabase, OutdatedDatabaseError } from './migrate.js';
export { type CommittedName, type EndedReason, type EntitlementState, entitlements, grants } from './schema/access.js';
export { agents } from './schema/agents.js';
export {
  type ApprovalRule,
  type ApprovalStatus,
  approvalAudience,
  approvals,
  decisions,
  knownIdentities,
} from './schema/approvals.js';
export { archivedBlocks, ledgerArchives } from './schema/archives.js';
export { accountAttachments, attachments, separations } from './schema/attachments.js';
export { catalogs } from './schema/catalogs.js';
export { comments } from './schema/comments.js';
export { encryptionKeys } from './schema/encryption.js';
export {
  definitions,
  type ExecutionStatus,
  executions,
  idempotencyKeys,
  type StepKind,
  type StepStatus,
  signals,
  steps,
  watches,
} from './schema/executions.js';
export {
  actorOf,
  isAboutOthers,
  type LedgerLevel,
  ledger,
  rangeOf,
  type TaskEvent,
  taskEvents,
} from './schema/ledger.js';
export { lookups, providerPauses } from './schema/limits.js';
export {
  disabledChannels,
  messages,
  messageTurns,
  type NoticeKind,
  notices,
  notificationPreferences,
  toldKinds,
} from './schema/messages.js';
export {
  deviceLogins,
  loginCodes,
  logins,
  logoutTokens,
  oauthFlows,
  programLogins,
  starredRoles,
  userIdentities,
  users,
} from './schema/people.js';
export {
  type ProvisionedDetails,
  provisionedGroups,
  provisionedMembers,
  provisionedUsers,
  provisioningTokens,
} from './schema/provisioning.js';
export { clusters, comparisons, driftAudits, drifts, leftovers, restores } from './schema/restore.js';
export { reviews } from './schema/reviews.js';
export { type RunOutcome, reachable, runs } from './schema/runs.js';
export { sessions } from './schema/sessions.js';
export { targets } from './schema/targets.js';
export { execute, joinTexts, rawText, SqlText, sqlText, statementOf } from './sql-text.js';
export { type Turn, takeTurn, tryTurn } from './turns.js';
