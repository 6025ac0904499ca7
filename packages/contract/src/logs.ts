import { z } from 'zod';
import { eventName, instant, moment, name, remark, time } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';

export const logLevel = z.enum(['info', 'warning', 'error']);
export type LogLevel = z.infer<typeof logLevel>;

export const logFilter = z.strictObject({
  level: logLevel.optional(),
  provider: name.optional(),
  user: name.optional().describe('E-mail address of who acted, or of whom it concerns'),
  workflow_id: name.optional(),
  type: name.optional(),
  since: moment.optional(),
  until: moment.optional(),
  limit: z.number().int().min(1).max(limits.page).optional(),
});
export type LogFilter = z.input<typeof logFilter>;

export const logEntry = z.object({
  timestamp: instant,
  level: logLevel,
  message: z.string(),
  provider: z.string(),
  user: z.string().describe('Who acted; empty when the service did it by itself'),
  owner: z.string().describe('E-mail address of the person whom it concerns, as the owner of a request'),
  workflow_id: z.string(),
  type: eventName,
});
export type LogEntry = z.infer<typeof logEntry>;

export const logList = z.object({ logs: z.array(logEntry) });
export type LogList = z.infer<typeof logList>;

export const logPage = z.object({
  logs: z.array(logEntry.extend({ cursor: z.string() })),
  next: z.string().nullable(),
});
/** One page of the export, newest first; `next` is null on the last page. */
export type LogPage = z.infer<typeof logPage>;

export const agentLogEntry = z.strictObject({
  timestamp: time,
  level: logLevel,
  message: remark.min(1),
  type: name.optional(),
  provider: name.optional(),
  workflow_id: name.optional(),
});
/** A log entry that an agent sends; it is stored as a statement of that agent, which the server cannot verify. */
export type AgentLogEntry = z.input<typeof agentLogEntry>;

export const logOperations = {
  list: query({ input: logFilter, output: logList }),
  export: query({
    input: logFilter.extend({
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional()
        .describe('The `cursor` of an entry; the entries after it are returned'),
    }),
    output: logPage,
  }),
  record: mutation({
    input: z.strictObject({ entries: z.array(agentLogEntry).min(1).max(limits.logEntries) }),
    output: z.object({ accepted: z.number().int() }),
  }),
};
