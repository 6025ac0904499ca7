import type { Meta } from '@belay/rest';
import { z } from 'zod';
import { name, opaque } from '../text.js';

export const callback = opaque.optional().describe('Where to go afterwards; must be on the allow-list');

/** What a program says of itself. */
export const label = name.optional().describe('What asks, for the person');

export const challenge = {
  code_challenge: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/)
    .optional()
    .describe('S256 challenge of a program that will exchange a code (RFC 7636)'),
  code_challenge_method: z.literal('S256').optional(),
};

/** What modes that have it say alike of GET /auth. */
export const declaredAuth = {
  page: {
    meta: {
      openapi: {
        method: 'GET',
        path: '/auth',
        tags: ['authentication'],
        protect: false,
        summary: 'List the providers to sign in with',
      },
      rest: { public: true, html: 'preferred', redirect: { status: 302, always: false } },
    },
    input: z.strictObject({ callback, provider: name.optional(), label, ...challenge }),
    output: z.object({
      providers: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), url: z.string() })),
    }),
  },
} satisfies Record<string, { meta: Meta; input: z.ZodType; output: z.ZodType }>;
