import { type ExecutionEvent, executionOperations } from '@belay/contract/executions';
import { limits } from '@belay/contract/limits';
import {
  cancelExecution,
  createSignal,
  extendElevation,
  limitOfWait,
  listExecutions,
  signalExecution,
  startExecution,
  terminateExecution,
  waitForExecution,
  watchExecution,
} from '@belay/core';
import { tracked } from '@trpc/server';
import { authenticated } from '../procedures.js';
import { linkNext } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['executions'];

export const executionsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/executions',
        tags,
        summary: 'List your running executions, or the requests that a filter selects',
      },
      rest: { html: 'offered', shown: limits.shown },
    })
    .input(executionOperations.list.input)
    .output(executionOperations.list.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listExecutions(ctx.caller, input))),
  start: authenticated
    .meta({ openapi: { method: 'POST', path: '/execution', tags, summary: 'Start a workflow' } })
    .input(executionOperations.start.input)
    .output(executionOperations.start.output)
    .mutation(({ ctx, input }) => startExecution(ctx.caller, { ...input, idempotencyKey: ctx.request.idempotencyKey })),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}', tags, summary: 'Read one execution and its history' },
      rest: { alsoPost: true, html: 'offered' },
    })
    .input(executionOperations.get.input)
    .output(executionOperations.get.output)
    .query(async ({ ctx, input, signal }) => {
      const over = input.until === undefined ? undefined : ctx.stayOpen?.(limitOfWait(ctx.caller, input.wait));
      const ends = over ?? signal ?? new AbortController().signal;
      const found = await waitForExecution(ctx.caller, { ...input, signal: ends });
      return linkNext(ctx, found);
    }),
  extend: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/execution/{id}/extend',
        tags,
        summary: 'Request the access that one of your executions holds for longer',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(executionOperations.extend.input)
    .output(executionOperations.extend.output)
    .mutation(({ ctx, input }) =>
      extendElevation(ctx.caller, { ...input, idempotencyKey: ctx.request.idempotencyKey }),
    ),
  cancel: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}/cancel', tags, summary: 'Cancel one of your executions' },
      rest: { confirm: { when: 'always', title: 'Cancel this request' } },
    })
    .input(executionOperations.cancel.input)
    .output(executionOperations.cancel.output)
    .mutation(({ ctx, input }) => cancelExecution(ctx.caller, input)),
  terminate: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/execution/{id}/terminate',
        tags,
        summary: 'Terminate one of your executions without its cleanup tasks; its grants still end immediately',
      },
      rest: { confirm: { when: 'always', title: 'Terminate this request' } },
    })
    .input(executionOperations.terminate.input)
    .output(executionOperations.terminate.output)
    .mutation(({ ctx, input }) => terminateExecution(ctx.caller, input)),
  signal: authenticated
    .meta({
      openapi: { method: 'GET', path: '/execution/{id}/signal', tags, summary: 'Send a sealed signal' },
      rest: { confirm: { when: 'always', title: 'Send this decision' } },
    })
    .input(executionOperations.signal.input)
    .output(executionOperations.signal.output)
    .mutation(({ ctx, input }) => signalExecution(ctx.caller, input)),
  prepareSignal: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/execution/{id}/signal/token',
        tags,
        summary: 'Seal a signal into a token that only you can send, for an execution that you can see',
      },
    })
    .input(executionOperations.prepareSignal.input)
    .output(executionOperations.prepareSignal.output)
    .mutation(({ ctx, input }) => createSignal(ctx.caller, input)),
  /**
   * Returns every event after `lastEventId` (or from the start), then each new one as it happens; ends when no more
   * events can follow.
   */
  watch: authenticated.input(executionOperations.watch.input).subscription(async function* ({ ctx, input, signal }) {
    const after = input.lastEventId === undefined ? undefined : Number(input.lastEventId);
    const events: AsyncIterable<ExecutionEvent> = watchExecution(ctx.caller, {
      id: input.id,
      after,
      signal: signal ?? new AbortController().signal,
    });
    for await (const event of events) yield tracked(String(event.seq), event);
  }),
});
