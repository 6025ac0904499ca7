import { z } from 'zod';
import { elevation } from './elevation.js';
import {
  approvalStatus,
  done,
  duration,
  eventName,
  instant,
  json,
  leavesBehind,
  moment,
  name,
  names,
  opaque,
  reason,
  someNames,
  stages,
  verdict,
} from './fields.js';
import { limits } from './limits.js';
import { mutation, query, subscription } from './operation.js';
import { next, paging } from './paging.js';
import { waitTargets } from './wait-target.js';

export const executionState = z.enum([
  'running',
  'waiting_for_approval',
  'granting',
  'active',
  'ending',
  'ended',
  'denied',
  'cancelled',
  'terminated',
  'failed',
]);
/**
 * The state of a request: `active` when all access can be used, `ending` until its removal is verified, `ended`
 * afterwards, `denied` also when it was not decided in time.
 */
export type ExecutionState = z.infer<typeof executionState>;

export const waitTarget = z.enum(waitTargets);
export type { WaitTarget } from './wait-target.js';

const runningStatuses = ['pending', 'running', 'waiting', 'suspended'] as const;
export const runningStatus = z.enum(runningStatuses);
export const workflowStatus = z.enum([...runningStatuses, 'completed', 'faulted', 'cancelled', 'terminated']);
/** The status of the workflow of an execution. */
export type WorkflowStatus = z.infer<typeof workflowStatus>;

export const executionDecision = z.object({
  approver: z.string(),
  verdict,
  comment: z.string().nullable(),
  decided_at: instant,
});
/** The decision of one approver. */
export type ExecutionDecision = z.infer<typeof executionDecision>;

export const execution = z.object({
  workflow_id: z.string(),
  run_id: z.string(),
  status: workflowStatus.describe('State of the workflow'),
  state: executionState.describe(
    'State of the request. `waiting_for_approval`: an approver has to decide; `granting`: access is being granted; ' +
      '`active`: all access can be used; `ending`: access is over, its removal not yet verified; `ended`: all access is removed; ' +
      '`denied`: denied, or not decided in time; `running`: any other step is in progress',
  ),
  start_time: instant,
  execution_time: z.string().describe('ISO 8601 duration'),
  task_queue: z.string(),
  user: z.string(),
  workflow_type: z.object({ name: z.string() }),
  role: z.string(),
  providers: z.array(z.string()),
  reason: z.string(),
  duration: z.string(),
  waiting_for: z.array(z.string()).describe('Descriptions of what each open step waits for'),
  requested_at: instant,
  decided_at: instant.nullable().describe('The latest decision of an approver'),
  active_from: instant.nullable().describe('When the first access was active'),
  ends_at: instant.nullable().describe('When the last access expires, or expired; null before it is active'),
  ended_at: instant
    .nullable()
    .describe('When the last access ended, by its time or early; for a request that was granted nothing, its end'),
  decided_by: z.array(executionDecision).describe('Decisions of approvers, oldest first'),
  extends: z.string().nullable().describe('The execution whose access this one extends; null for any other'),
  break_glass: z
    .boolean()
    .describe('Whether the role was for emergencies: each use notifies the people whom its configuration names'),
});
/** One run of a workflow for a person's request. */
export type Execution = z.infer<typeof execution>;

export const executionList = z.object({ executions: z.array(execution), next });
export type ExecutionList = z.infer<typeof executionList>;

export const historyEntry = z.object({
  event_type: eventName,
  timestamp: instant,
  message: z.string(),
  task: z.string().optional(),
});
export type HistoryEntry = z.infer<typeof historyEntry>;

export const executionApproval = z.object({
  id: z.string(),
  status: approvalStatus,
  expires_at: instant,
  approvers: z.object({ users: z.array(z.string()), groups: z.array(z.string()) }),
  count: z.number().int(),
  ...stages,
  request_digest: z.string(),
  because: z.string().nullable().describe('Why the second approval was required; null for a first approval'),
  decisions: z.array(executionDecision),
});
export type ExecutionApproval = z.infer<typeof executionApproval>;

export const grantState = z.enum(['granting', 'active', 'ended', 'gone', 'failed']);
/** `ended`: over, its removal at the provider not yet verified; `gone`: removal verified; `failed`: never granted. */
export type GrantState = z.infer<typeof grantState>;

export const executionGrant = z.object({
  provider: z.string(),
  identity: z.string(),
  access: z.unknown().describe("The access, in the provider's own terms"),
  state: grantState.describe(
    '`ended`: over, its removal at the provider not yet verified; `gone`: removal verified; `failed`: never granted',
  ),
  granted_at: instant.nullable(),
  expires_at: instant.nullable(),
  ended_reason: z.string().nullable(),
  gone_at: instant.nullable().describe('When the removal was verified at the provider'),
  residual: z.string().describe('ISO 8601 duration: how long access can outlive its revocation at most'),
  leaves_behind: leavesBehind,
  last_error: z.string().nullable(),
  pending: z.string().nullable().describe('What the provider is still working on; null when it is not known to be'),
});
export type ExecutionGrant = z.infer<typeof executionGrant>;

export const executionDetails = execution.extend({
  history: z.array(historyEntry).describe('Oldest first; without `cursor` the newest entries'),
  next: next.describe('Cursor of the older entries of the history; null when there are none'),
  input: z.unknown(),
  output: z.unknown(),
  error: z
    .object({
      type: z.string(),
      status: z.number(),
      title: z.string().optional(),
      detail: z.string().optional(),
      instance: z.string().optional(),
    })
    .nullable(),
  end_time: instant.nullable(),
  approvals: z.array(executionApproval),
  grants: z.array(executionGrant),
});
/** An execution with a page of its history, its approvals and its grants. */
export type ExecutionDetails = z.infer<typeof executionDetails>;

export const executionStart = z.strictObject({
  workflow: name,
  input: z.strictObject({
    role: name,
    provider: name.optional(),
    providers: someNames.optional(),
    reason: reason.optional(),
    duration: duration.optional(),
    identities: names.optional(),
  }),
});
export type ExecutionStart = z.input<typeof executionStart>;

export const startedExecution = z.object({ workflow_id: z.string(), run_id: z.string(), status: workflowStatus });
export type StartedExecution = z.infer<typeof startedExecution>;

export const executionEvent = z.object({
  seq: z.number().int().describe('Rises with every event of the execution; the `lastEventId` to resume after'),
  event_type: eventName,
  timestamp: instant,
  message: z.string(),
  task: z.string().optional(),
  status: workflowStatus,
});
export type ExecutionEvent = z.infer<typeof executionEvent>;

export const sealedSignal = z.object({ input: z.string(), expires_at: instant });
/** A signal that the service sealed for the caller, for `executions.signal`. */
export type SealedSignal = z.infer<typeof sealedSignal>;

export const signalled = z.object({ message: z.string(), workflow_id: z.string() });
export type Signalled = z.infer<typeof signalled>;

const one = z.strictObject({ id: name });

export const executionPhase = z.enum(['open', 'active', 'past']);
/**
 * `open`: not granted yet and not over; `active`: access is held, or its removal is awaited; `past`: over.
 */
export type ExecutionPhase = z.infer<typeof executionPhase>;

const executionFilter = {
  status: z
    .enum([...executionPhase.options, 'all', ...workflowStatus.options])
    .optional()
    .describe(
      '`open`: not granted yet and not over; `active`: access is held, or its removal is awaited; `past`: over; `all`; ' +
        'or a state of the workflow. Without any filter: your running executions',
    ),
  decided_by: z.enum(['me']).optional().describe('Requests that you decided, the latest decision first'),
  person: name
    .optional()
    .describe(
      'Requests of this e-mail address that you may see, or `anyone` for administrators and auditors; default: yours',
    ),
  role: name.optional(),
  provider: name.optional(),
  q: name
    .optional()
    .describe('Words in the reason, the role, a provider or the address, or the beginning of the identifier'),
  from: moment.optional(),
  to: moment.optional(),
};
/** Selects requests: with no field set, the running ones of the caller; otherwise, without `status`, those of every status. */
export type ExecutionFilter = z.input<z.ZodObject<typeof executionFilter>>;

export const executionOperations = {
  list: query({
    input: z.strictObject({
      ...paging,
      limit: paging.limit.describe('The most items to return; default: 500. A page of a filter can be shorter'),
      ...executionFilter,
    }),
    output: executionList,
  }),
  start: mutation({ input: executionStart, output: startedExecution }),
  get: query({
    input: one.extend({
      limit: z
        .number()
        .int()
        .min(1)
        .max(limits.history)
        .optional()
        .describe('Number of history entries; default: 1,000'),
      cursor: opaque
        .max(limits.cursor)
        .optional()
        .describe('`next` of an earlier response; returns the older history entries'),
      until: waitTarget
        .optional()
        .describe(
          'Respond when the execution has reached this, or `wait` is over. `approval`: approvers can decide; `decision`: they have ' +
            'decided; `active`: access can be used; `ended`: all access has ended; `completed`: `status` is final',
        ),
      wait: duration.optional().describe('The longest wait, with `until`; default: PT20S, at most PT30S'),
    }),
    output: executionDetails,
  }),
  extend: mutation({
    input: one.extend({
      duration: duration
        .optional()
        .describe('ISO 8601 duration from the moment when the extension is active; default: that of the request'),
      reason: reason.optional().describe('Default: that of the request'),
    }),
    output: elevation,
  }),
  cancel: mutation({ input: one, output: done }),
  terminate: mutation({ input: one, output: done }),
  signal: mutation({
    input: one.extend({ input: opaque.describe('CloudEvent that this service has sealed') }),
    output: signalled,
  }),
  prepareSignal: mutation({
    input: one.extend({ type: name.describe('Type of the CloudEvent'), data: json.optional() }),
    output: sealedSignal,
  }),
  watch: subscription({
    input: one.extend({
      lastEventId: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    }),
    output: executionEvent,
  }),
};
