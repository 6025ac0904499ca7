import type { Meta } from '@belay/rest';
import { z } from 'zod';
import { instant } from '../text.js';

export const sessionSummary = z.object({ version: z.number().int(), expiry: instant });

/** What every mode says alike of GET /sessions. */
export const declaredSessions = {
  list: {
    meta: {
      openapi: {
        method: 'GET',
        path: '/sessions',
        tags: ['sessions'],
        summary: 'List your active sessions by provider',
      },
    },
    output: z.object({
      version: z.string(),
      timestamp: instant,
      sessions: z.record(z.string(), sessionSummary),
    }),
  },
} satisfies Record<string, { meta: Meta; output: z.ZodType }>;
