import { exportLogs, listLogs, recordLogs } from '@belay/core';
import { z } from 'zod';
import { declaredLogs, entry, filter, level, tags, time } from '../declared/logs.js';
import { agentOnly, authenticated } from '../procedures.js';
import { name, remark } from '../text.js';
import { router } from '../trpc.js';

export const logsRouter = router({
  list: authenticated
    .meta(declaredLogs.list.meta)
    .input(declaredLogs.list.input)
    .output(declaredLogs.list.output)
    .query(({ ctx, input }) => listLogs(ctx.caller, input)),
  export: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/logs/export',
        tags,
        summary: 'Read every log entry you may see: one a line as NDJSON, or page by page as JSON',
      },
      rest: { stream: 'logs' },
    })
    .input(
      z.strictObject({
        ...filter,
        cursor: z
          .string()
          .regex(/^\d{1,15}$/)
          .optional()
          .describe('Goes on after the entry that has it'),
      }),
    )
    .output(z.object({ logs: z.array(z.object({ ...entry, cursor: z.string() })), next: z.string().nullable() }))
    .query(({ ctx, input }) => exportLogs(ctx.caller, input)),
  record: agentOnly
    .meta({ openapi: { method: 'POST', path: '/logs', tags, summary: 'Send log entries, as an agent' } })
    .input(
      z.strictObject({
        entries: z
          .array(
            z.strictObject({
              timestamp: time,
              level,
              message: remark.min(1),
              type: name.optional(),
              provider: name.optional(),
              workflow_id: name.optional(),
            }),
          )
          .min(1)
          .max(200),
      }),
    )
    .output(z.object({ accepted: z.number().int() }))
    .mutation(({ ctx, input }) => recordLogs(ctx.caller, input)),
});
