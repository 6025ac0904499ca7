import {
  cancelExecution,
  createSignal,
  executionStates,
  listExecutions,
  signalExecution,
  startExecution,
  terminateExecution,
  waitForExecution,
  waitTargets,
  watchExecution,
} from '@belay/core';
import { tracked } from '@trpc/server';
import { z } from 'zod';
import { linkNext, next, paging } from '../paging.js';
import { authenticated } from '../procedures.js';
import { duration, instant, json, leavesBehind, name, names, opaque, prose, someNames } from '../text.js';
import { router } from '../trpc.js';

const executionSummary = z.object({
  workflow_id: z.string(),
  run_id: z.string(),
  status: z
    .string()
    .describe('The workflow’s: pending, running, waiting, suspended, completed, faulted, cancelled or terminated'),
  state: z
    .enum(executionStates)
    .describe(
      'Where the request stands for people. `waiting_for_approval`: an approver has to decide; `granting`: being granted; ' +
        '`active`: all of it can be used; `ending`: over, and not yet verified as removed; `ended`: nothing is held any more; ' +
        '`denied`: by an approver, or not decided in time; `running`: anything else that is under way',
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
  waiting_for: z.array(z.string()),
});

const executionDetails = executionSummary.extend({
  history: z
    .array(z.object({ event_type: z.string(), timestamp: instant, message: z.string(), task: z.string().optional() }))
    .describe('Oldest first; without `cursor` the newest entries'),
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
  approvals: z.array(
    z.object({
      id: z.string(),
      status: z.string(),
      expires_at: instant,
      approvers: z.object({ users: z.array(z.string()), groups: z.array(z.string()) }),
      count: z.number().int(),
      request_digest: z.string(),
      because: z.string().nullable().describe('Why it was asked again; null when it was asked for the first time'),
      decisions: z.array(
        z.object({ approver: z.string(), verdict: z.string(), comment: z.string().nullable(), decided_at: instant }),
      ),
    }),
  ),
  grants: z.array(
    z.object({
      provider: z.string(),
      identity: z.string(),
      access: z.unknown(),
      state: z
        .enum(['granting', 'active', 'ended', 'gone', 'failed'])
        .describe(
          '`ended`: over, and not yet seen to be gone at the provider; `gone`: seen to be; `failed`: never was',
        ),
      granted_at: instant.nullable(),
      expires_at: instant.nullable(),
      ended_reason: z.string().nullable(),
      gone_at: instant.nullable(),
      residual: z.string().describe('How long access can outlive its revocation at worst, ISO 8601'),
      leaves_behind: leavesBehind,
      last_error: z.string().nullable(),
    }),
  ),
});

/** One event of an execution, as the subscription gives it. */
export interface ExecutionEvent {
  seq: number;
  event_type: string;
  timestamp: string;
  message: string;
  task?: string;
  status: string;
}

const execution = z.strictObject({ id: name });
const acknowledged = z.object({ status: z.string(), message: z.string() });
const tags = ['executions'];

export const executionsRouter = router({
  list: authenticated
    .meta({
      openapi: { method: 'GET', path: '/executions', tags, summary: 'List your running executions' },
      rest: { html: 'offered' },
    })
    .input(z.strictObject(paging))
    .output(z.object({ executions: z.array(executionSummary), next }))
    .query(async ({ ctx, input }) => linkNext(ctx, await listExecutions(ctx.caller, input))),
  start: authenticated
    .meta({ openapi: { method: 'POST', path: '/execution', tags, summary: 'Start a workflow' } })
    .input(
      z.strictObject({
        workflow: name,
        input: z.strictObject({
          role: name,
          provider: name.optional(),
          providers: someNames.optional(),
          reason: prose.optional(),
          duration: duration.optional(),
          identities: names.optional(),
        }),
      }),
    )
    .output(z.object({ workflow_id: z.string(), run_id: z.string(), status: z.string() }))
    .mutation(({ ctx, input }) => startExecution(ctx.caller, { ...input, idempotencyKey: ctx.request.idempotencyKey })),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}', tags, summary: 'Read one execution and its history' },
      rest: { alsoPost: true, html: 'offered' },
    })
    .input(
      execution.extend({
        limit: z
          .number()
          .int()
          .min(1)
          .max(1_000)
          .optional()
          .describe('How many entries of the history; 1,000 when left out'),
        cursor: opaque.max(200).optional().describe('`next` of an answer, for the entries of the history before it'),
        until: z.enum(waitTargets).optional().describe('Answer only once it has come this far, or the time is over'),
        wait: duration.optional().describe('How long at most, with `until`: PT20S when left out, PT30S at most'),
      }),
    )
    .output(executionDetails)
    .query(async ({ ctx, input, signal }) => {
      if (input.until !== undefined) ctx.stayOpen?.();
      const found = await waitForExecution(ctx.caller, { ...input, signal: signal ?? new AbortController().signal });
      return linkNext(ctx, found);
    }),
  cancel: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}/cancel', tags, summary: 'Cancel an execution of yours' },
      rest: { confirm: { when: 'always', title: 'Cancel this request' } },
    })
    .input(execution)
    .output(acknowledged)
    .mutation(({ ctx, input }) => cancelExecution(ctx.caller, input)),
  terminate: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/execution/{id}/terminate',
        tags,
        summary: 'Terminate an execution of yours, without cleanup tasks; its grants still end at once',
      },
      rest: { confirm: { when: 'always', title: 'Terminate this request' } },
    })
    .input(execution)
    .output(acknowledged)
    .mutation(({ ctx, input }) => terminateExecution(ctx.caller, input)),
  signal: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}/signal', tags, summary: 'Send a sealed signal' },
      rest: { confirm: { when: 'always', title: 'Send this decision' } },
    })
    .input(z.strictObject({ id: name, input: opaque.describe('Sealed CloudEvent, made by this service') }))
    .output(z.object({ message: z.string(), workflow_id: z.string() }))
    .mutation(({ ctx, input }) => signalExecution(ctx.caller, input)),
  prepareSignal: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/execution/{id}/signal/token',
        tags,
        summary: 'Seal a signal for yourself to send to an execution you may see',
      },
    })
    .input(z.strictObject({ id: name, type: name.describe('Type of the CloudEvent'), data: json.optional() }))
    .output(z.object({ input: z.string(), expires_at: instant }))
    .mutation(({ ctx, input }) => createSignal(ctx.caller, input)),
  /** Every event after `lastEventId` (or from the start), then each as it happens; ends when nothing more can. */
  watch: authenticated
    .input(
      z.strictObject({
        id: name,
        lastEventId: z
          .string()
          .regex(/^\d{1,15}$/)
          .optional(),
      }),
    )
    .subscription(async function* ({ ctx, input, signal }) {
      const after = input.lastEventId === undefined ? undefined : Number(input.lastEventId);
      const events: AsyncIterable<ExecutionEvent> = watchExecution(ctx.caller, {
        id: input.id,
        after,
        signal: signal ?? new AbortController().signal,
      });
      for await (const event of events) yield tracked(String(event.seq), event);
    }),
});
