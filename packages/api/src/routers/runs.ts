import { runOperations } from '@belay/contract/runs';
import { beatRun, endRun, startRun } from '@belay/core';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

const tags = ['runs'];

export const runsRouter = router({
  start: authenticated
    .meta({ openapi: { method: 'POST', path: '/runs', tags, summary: 'Start a run: access while a command runs' } })
    .input(runOperations.start.input)
    .output(runOperations.start.output)
    .mutation(({ ctx, input }) => startRun(ctx.caller, input)),
  beat: authenticated
    .meta({ openapi: { method: 'POST', path: '/runs/{run_id}/beat', tags, summary: 'Send the heartbeat of a run' } })
    .input(runOperations.beat.input)
    .output(runOperations.beat.output)
    .mutation(({ ctx, input }) => beatRun(ctx.caller, input)),
  end: authenticated
    .meta({ openapi: { method: 'POST', path: '/runs/{run_id}/end', tags, summary: 'End a run' } })
    .input(runOperations.end.input)
    .output(runOperations.end.output)
    .mutation(({ ctx, input }) => endRun(ctx.caller, input)),
});
