export { acceptLeft } from './access/accept-left.js';
export { type Claim, claimDue } from './access/claim.js';
export { compareProvider } from './access/compare.js';
export { readConnections } from './access/connection.js';
export { auditDrift } from './access/drift.js';
export { type Due, findDue } from './access/due.js';
export { confirmSameTarget, readSameTarget } from './access/history/same.js';
export { listAccess } from './access/list.js';
export { listAllAccess } from './access/list-all.js';
export { listOverdue, retryRevocation } from './access/overdue.js';
export { performClaims } from './access/perform.js';
export { reconcileEntitlement } from './access/reconcile.js';
export { answerLeftover, openRestore, skipProvider } from './access/restore/answer.js';
export { beginRestore } from './access/restore/begin.js';
export { compareRestored } from './access/restore/compare-due.js';
export { noticeRestore } from './access/restore/notice.js';
export { readRestore } from './access/restore/status.js';
export { revokeAccess } from './access/revoke.js';
export { standByHeld } from './access/stand-by.js';
export { withActor } from './actor.js';
export { adoptCredential, enrollAgent, isAgentCredential, verifyAgent } from './agents/credential.js';
export { listAgents } from './agents/list.js';
export { registerAgent } from './agents/register.js';
export { removeAgent } from './agents/remove.js';
export { reportAgent } from './agents/report.js';
export { signForAgents } from './agents/sign.js';
export { listApprovers } from './approvals/approvers.js';
export { decideApproval } from './approvals/decide.js';
export { decideApprovals } from './approvals/decide-many.js';
export { listInbox } from './approvals/inbox.js';
export { type Breathe, breatheBy, inOnePiece } from './breathe.js';
export { can } from './can.js';
export { applyCatalog } from './catalog/apply.js';
export { roleVisibility } from './catalog/audiences.js';
export {
  getProvider,
  listAuthenticators,
  listProviderIdentities,
  listProviderPermissions,
  listProviderRoles,
  listProviders,
} from './catalog/providers.js';
export { readDefinitions } from './catalog/read-stored.js';
export { getRole } from './catalog/roles.js';
export { type LiveCatalog, openCatalog } from './catalog/source.js';
export { listStarredRoles, starRole, unstarRole } from './catalog/star-role.js';
export { compareConfigurations, listConfigurations } from './catalog/versions.js';
export { findDisabledWorkflows, getWorkflow, listWorkflows } from './catalog/workflows.js';
export { addComment } from './comments/add.js';
export { listComments } from './comments/list.js';
export type { Catalog } from './configuration/catalog.js';
export { compileCatalog } from './configuration/compile.js';
export { describeConfiguration } from './configuration/describe-configuration.js';
export type { ConfigurationIssue } from './configuration/issue.js';
export { findLiteralSecrets } from './configuration/literal-secrets.js';
export { findReferences, type ResolveReference, resolveReferences } from './configuration/references.js';
export { catalogSchema } from './configuration/schema.js';
export type {
  Actor,
  ActorContext,
  ActorStore,
  AgentActor,
  Bulkhead,
  Context,
  Job,
  Logger,
  Meter,
  Place,
  UserActor,
  Waker,
} from './context.js';
export { listDynamicBounds } from './elevation/dynamic-bounds.js';
export { extendElevation } from './elevation/extend.js';
export { requestElevation, startExecution } from './elevation/request.js';
export { type DynamicRequest, requestDynamicElevation } from './elevation/request-dynamic.js';
export { requestManyElevations } from './elevation/request-many.js';
export { resolveRole } from './elevation/resolve-role.js';
export { suggestElevation } from './elevation/suggest.js';
export { cancelExecution } from './executions/cancel.js';
export { openChanges } from './executions/changes.js';
export { getExecution } from './executions/get.js';
export { listExecutions } from './executions/list.js';
export { receiveEvent } from './executions/receive-event.js';
export { createState, createTaskToken, resumeExecution } from './executions/resume.js';
export { returnAccess } from './executions/return.js';
export { createSignal, signalExecution } from './executions/signal.js';
export { terminateExecution } from './executions/terminate.js';
export { limitOfWait, waitForExecution } from './executions/wait.js';
export { watchExecution } from './executions/watch.js';
export { engineHost } from './host.js';
export { createKeyring, deriveKey, identifyKey, type Keyring } from './keyring.js';
export { appendLedger } from './ledger/append.js';
export { recordLogs } from './ledger/record.js';
export { authorizeSession } from './logins/authorize-session.js';
export { beginLogin } from './logins/begin.js';
export { checkCallback } from './logins/callback.js';
export { type CompletedLogin, completeLogin } from './logins/complete.js';
export { completeSession } from './logins/complete-session.js';
export { createLogin } from './logins/create.js';
export { decideDeviceLogin } from './logins/device/decide.js';
export { findDeviceLogin } from './logins/device/find.js';
export { pollDeviceLogin } from './logins/device/poll.js';
export { startDeviceLogin } from './logins/device/start.js';
export { endLogin } from './logins/end.js';
export { endOtherLogin, revokeToken } from './logins/end-other.js';
export { exchangeLoginCode } from './logins/exchange.js';
export { expireLogins } from './logins/expire.js';
export { readSignInMetadata } from './logins/flow.js';
export { keepUnsent, openUnsent, type UnsentForm } from './logins/keep-unsent.js';
export { listTokens } from './logins/list-tokens.js';
export { decideProgramLogin, findProgramLogin } from './logins/program.js';
export { receiveAnswer } from './logins/receive.js';
export { receiveLogout } from './logins/receive-logout.js';
export { isSignatureOf, signForm } from './logins/sign-form.js';
export { createToken } from './logins/token.js';
export { type VerifiedLogin, verifyLogin, verifyLogins } from './logins/verify.js';
export { exportAudit, listAudit } from './logs/audit.js';
export { exportLogs, listLogs } from './logs/read.js';
export { deliverMessages } from './messages/deliver.js';
export { choosePreferences, readPreferences, writePreferences } from './messages/preferences.js';
export { receiveHook } from './messages/receive.js';
export { isOwnFailure, noteOutage } from './outage.js';
export { oversightOf, readWhoami } from './people/oversight.js';
export { upsertUser } from './people/people.js';
export { createProbe } from './probe.js';
export {
  type GroupFilter,
  getProvisionedGroup,
  listProvisionedGroups,
  type ProvisionedGroup,
} from './provisioning/read-groups.js';
export {
  getProvisionedUser,
  listProvisionedUsers,
  type ProvisionedUser,
  type UserFilter,
} from './provisioning/read-users.js';
export {
  createProvisioningToken,
  listProvisioningTokens,
  revokeProvisioningToken,
  verifyProvisioningToken,
} from './provisioning/tokens.js';
export {
  changeProvisionedGroup,
  createProvisionedGroup,
  deleteProvisionedGroup,
  type ProvisionedCrowd,
} from './provisioning/write-group.js';
export {
  changeProvisionedUser,
  createProvisionedUser,
  deleteProvisionedUser,
  type ProvisionedPerson,
  reportRefused,
} from './provisioning/write-user.js';
export type { Answer } from './rehearsal/answer-call.js';
export { compareRoles, type RoleChange } from './rehearsal/compare-roles.js';
export { type Rehearsal, rehearseFor } from './rehearsal/rehearse.js';
export { type Replay, replayRequests } from './rehearsal/replay.js';
export {
  type ArchiveFiles,
  archiveLedger,
  type Block,
} from './retention/archive-ledger.js';
export { deleteArchived } from './retention/delete-archived.js';
export { deleteRequests } from './retention/delete-requests.js';
export { deleteSettled } from './retention/delete-settled.js';
export { closeReview } from './reviews/close.js';
export { listReviews } from './reviews/list.js';
export { endLapsedRuns, endRun } from './runs/end.js';
export { beatRun, noteReachable } from './runs/lease.js';
export { startRun } from './runs/start.js';
export { listSessions } from './sessions/find.js';
export { issueSession } from './sessions/issue.js';
export { refreshSessions } from './sessions/refresh.js';
export { inspectSession, verifySession } from './sessions/verify.js';
export { configureSuggester } from './suggestions/configure.js';
export { searchRoles } from './suggestions/search-roles.js';
export { readApiConfiguration, readSync } from './system/configuration.js';
export { readHealth } from './system/health.js';
export { readMetrics } from './system/metrics.js';
export { listOffered, type Offered, watchObstacles } from './system/obstacles.js';
export { createReadiness } from './system/readiness.js';
export { type Timing, timing } from './timing.js';
export type { KeyWrapping } from './tokens/data-key.js';
export { openKeyring } from './tokens/open-keyring.js';
export { rotateEncryptionKey } from './tokens/rotate-encryption-key.js';
export { open, seal } from './tokens/seal.js';
export { getPerson } from './users/get.js';
export { listPeople } from './users/list.js';
export { separatePeople } from './users/separate.js';
export { stopUser } from './users/stop.js';
