import { exportLogs, listLogs, recordLogs } from '@belay/core';
import { z } from 'zod';
import { agentOnly, authenticated } from '../procedures.js';
import { instant, name, remark } from '../text.js';
import { router } from '../trpc.js';

const level = z.enum(['info', 'warning', 'error']);
const time = z.iso.datetime({ offset: true });
const filter = {
  level: level.optional(),
  provider: name.optional(),
  user: name.optional().describe('E-mail address'),
  workflow_id: name.optional(),
  type: name.optional(),
  since: time.optional(),
  until: time.optional(),
  limit: z.number().int().min(1).max(500).optional(),
};
const entry = {
  timestamp: instant,
  level: z.string(),
  message: z.string(),
  provider: z.string(),
  user: z.string(),
  workflow_id: z.string(),
  type: z.string(),
};
const tags = ['logs'];

export const logsRouter = router({
  list: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/logs',
        tags,
        summary: 'Read the most recent log entries you may see: system events, user actions and the audit trail',
      },
      rest: { html: 'offered' },
    })
    .input(z.strictObject(filter))
    .output(z.object({ logs: z.array(z.object(entry)) }))
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
