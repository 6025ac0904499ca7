/*
 * The input and output types of the SDK, which are the shapes of the contract. In the published package they are written out, so that its
 * declarations need only TypeScript's own library. Times are ISO 8601 in UTC with milliseconds; durations are ISO 8601, and inputs also
 * accept `1h30m`.
 */

export type { AccessGrant, AccessList, Cluster, Connections } from '@belay/contract/access';
export type {
  AccessFilter,
  AgentList,
  AuditEntry,
  AuditFilter,
  AuditPage,
  ConfigurationChange,
  ConfigurationDiff,
  ConfigurationVersions,
  HeldAccess,
  HeldAccessList,
  KnownPerson,
  ListedAgent,
  OverdueList,
  OverdueRevocation,
  PeopleList,
  PersonDetails,
  RestoreStatus,
  Revoked,
  RevokeRequest,
  SameTarget,
  StoppedPerson,
} from '@belay/contract/admin';
export type {
  Approvers,
  BulkDecided,
  BulkDecision,
  Decided,
  Decision,
  Inbox,
  InboxEntry,
  InboxFilter,
  InboxSort,
} from '@belay/contract/approvals';
export type {
  CodeExchange,
  ExchangedToken,
  LoggedOut,
  PolledDeviceLogin,
  SignInProvider,
  SignInProviders,
  StartedDeviceLogin,
  Whoami,
} from '@belay/contract/auth';
export type { Comment, CommentKind, CommentList, NewComment } from '@belay/contract/comments';
export type {
  AgentEnvironment,
  AgentReport,
  AgentReported,
  ApiConfiguration,
  ConfigurationSignature,
  Registration,
  Sync,
  WorkflowStep,
} from '@belay/contract/configuration';
export type {
  DynamicBounds,
  DynamicElevationRequest,
  Elevation,
  ElevationRequest,
  ManyElevations,
  ManyRequested,
  NameRules,
  ResumeRequest,
  Resumption,
} from '@belay/contract/elevation';
export type { EventName, EventType } from '@belay/contract/event-types';
export type {
  Execution,
  ExecutionApproval,
  ExecutionDecision,
  ExecutionDetails,
  ExecutionEvent,
  ExecutionFilter,
  ExecutionGrant,
  ExecutionList,
  ExecutionStart,
  ExecutionState,
  GrantState,
  HistoryEntry,
  SealedSignal,
  Signalled,
  StartedExecution,
  WaitTarget,
  WorkflowStatus,
} from '@belay/contract/executions';
export type { Done, Verdict } from '@belay/contract/fields';
export type { AgentLogEntry, LogEntry, LogFilter, LogLevel, LogList, LogPage } from '@belay/contract/logs';
export type { Procedures } from '@belay/contract/operations';
export type { NotificationPreferences, ShownPreferences } from '@belay/contract/preferences';
export type {
  AuthorizationStart,
  Capability,
  Provider,
  ProviderIdentities,
  ProviderList,
  ProviderPermissions,
  ProviderRoles,
  ProviderSummary,
  SessionAuthorization,
} from '@belay/contract/providers';
export type { Review, ReviewClosing, ReviewFilter, ReviewList, ReviewVerdict } from '@belay/contract/reviews';
export type { Role, RoleGrant, RoleList, RoleStar, StarredRoles } from '@belay/contract/roles';
export type { Beat, Run, RunEnd, RunRequest } from '@belay/contract/runs';
export type {
  IssuedSession,
  LocalLogin,
  Session,
  SessionList,
  SessionToKeep,
  VerifiedSession,
} from '@belay/contract/sessions';
export type { SuggestedRequest, Suggestion } from '@belay/contract/suggestions';
export type { Health, Metrics, Readiness } from '@belay/contract/system';
export type { Workflow, WorkflowList, WorkflowSummary } from '@belay/contract/workflows';
export type { CallOptions, Idempotent, PageOptions, WatchOptions } from './options.js';
