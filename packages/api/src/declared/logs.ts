import type { Meta } from '@belay/rest';
import { z } from 'zod';
import { instant, name } from '../text.js';

export const level = z.enum(['info', 'warning', 'error']);
export const time = z.iso.datetime({ offset: true });
export const filter = {
  level: level.optional(),
  provider: name.optional(),
  user: name.optional().describe('E-mail address of who acted, or of whom it concerns'),
  workflow_id: name.optional(),
  type: name.optional(),
  since: time.optional(),
  until: time.optional(),
  limit: z.number().int().min(1).max(500).optional(),
};
export const entry = {
  timestamp: instant,
  level: z.string(),
  message: z.string(),
  provider: z.string(),
  user: z.string().describe('Who acted; empty when the service did it by itself'),
  owner: z.string().describe('E-mail address of the person whom it concerns, as the owner of a request'),
  workflow_id: z.string(),
  type: z.string(),
};
export const tags = ['logs'];

/** What every mode says alike of GET /logs. */
export const declaredLogs = {
  list: {
    meta: {
      openapi: {
        method: 'GET',
        path: '/logs',
        tags,
        summary: 'Read the most recent log entries you may see: system events, user actions and the audit trail',
      },
      rest: { html: 'offered' },
    },
    input: z.strictObject(filter),
    output: z.object({ logs: z.array(z.object(entry)) }),
  },
} satisfies Record<string, { meta: Meta; input: z.ZodType; output: z.ZodType }>;
