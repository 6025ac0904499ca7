import { limits } from '@belay/contract/limits';
import { logOperations } from '@belay/contract/logs';
import { metadata } from '@belay/contract/metadata';
import { exportLogs, listLogs, recordLogs } from '@belay/core';
import { agentOnly, authenticated } from '../procedures.js';
import { router } from '../trpc.js';

const tags = ['logs'];

export const logsRouter = router({
  list: authenticated
    .meta({ ...metadata.logs.list, rest: { ...metadata.logs.list.rest, shown: limits.shown } })
    .input(logOperations.list.input)
    .output(logOperations.list.output)
    .query(({ ctx, input }) => listLogs(ctx.caller, input)),
  export: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/logs/export',
        tags,
        summary: 'Read the log entries that you may see: all of them as NDJSON, or one page as JSON',
      },
      rest: { stream: 'logs' },
    })
    .input(logOperations.export.input)
    .output(logOperations.export.output)
    .query(({ ctx, input }) => exportLogs(ctx.caller, input)),
  record: agentOnly
    .meta({ openapi: { method: 'POST', path: '/logs', tags, summary: 'Send log entries, as an agent' } })
    .input(logOperations.record.input)
    .output(logOperations.record.output)
    .mutation(({ ctx, input }) => recordLogs(ctx.caller, input)),
});
